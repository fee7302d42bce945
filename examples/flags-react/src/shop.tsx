/** The shop. Flags decide how it looks; it has no code for rules, rollouts or organizations. */
import { useState } from "react";
import { authClient } from "./client.ts";
import { GOODS } from "./goods.ts";
import { useFeatureFlag } from "./hooks.ts";
import type { StockLevels } from "./messages.ts";
import { buy, useStock } from "./socket.ts";

export function Shop({ stock: rendered }: { readonly stock: StockLevels }) {
  const stock = useStock(rendered);
  const banner = useFeatureFlag("banner");
  const layout = useFeatureFlag("layout");
  const hasFreeShipping = useFeatureFlag("free-shipping");
  return (
    <>
      <p className="banner" data-tone={banner.tone}>
        {banner.text}
      </p>
      <ul className="goods" data-layout={layout}>
        {GOODS.map(({ name, price }) => (
          <li key={name}>
            <strong>{name}</strong>
            <span>€ {price}</span>
            <small className="facts soft">
              <span>{hasFreeShipping ? "Free shipping" : "€ 9 shipping"}</span>
              <span>{stock[name] ?? 0} left</span>
            </small>
            <BuyButton name={name} price={price} isSoldOut={stock[name] === 0} />
          </li>
        ))}
      </ul>
    </>
  );
}

/** The A/B test: the server assigns the button text to a visitor, and the client reports purchases. */
function BuyButton({ name, price, isSoldOut }: { name: string; price: number; isSoldOut: boolean }) {
  const words = useFeatureFlag("buy-button");
  const [isBought, setBought] = useState(false);
  return (
    <button
      type="button"
      className="primary"
      disabled={isBought || isSoldOut}
      onClick={() => {
        setBought(true);
        buy(name).catch(() => setBought(false));
        void authClient.featureFlags.track("buy-button", "purchase", price);
      }}
    >
      {isBought ? "Thank you!" : isSoldOut ? "Sold out" : words}
    </button>
  );
}
