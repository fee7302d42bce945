/** The shop. Flags decide how it looks; it has no code for rules, rollouts or organizations. */
import { useState } from "react";
import { authClient } from "./client.ts";
import { useFeatureFlag } from "./hooks.ts";

const GOODS = [
  { name: "Halyard, 30 m", price: 89 },
  { name: "Snatch block", price: 54 },
  { name: "Anchor light", price: 31 },
  { name: "Signal flags", price: 120 },
];

export function Shop() {
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
            <small className="soft">{hasFreeShipping ? "Free shipping" : "€ 9 shipping"}</small>
            <BuyButton price={price} />
          </li>
        ))}
      </ul>
    </>
  );
}

/** The A/B test: the server assigns the button text to a visitor, and the client reports purchases. */
function BuyButton({ price }: { readonly price: number }) {
  const words = useFeatureFlag("buy-button");
  const [isBought, setBought] = useState(false);
  return (
    <button
      type="button"
      className="primary"
      disabled={isBought}
      onClick={() => {
        setBought(true);
        void authClient.featureFlags.track("buy-button", "purchase", price);
      }}
    >
      {isBought ? "Thank you!" : words}
    </button>
  );
}
