/** The arguments of the functions that send a message. */
import type { AnyMessageSchema, MetaInput, MetaOutput, PayloadInput } from "./message.ts";

/** The arguments after the schema when a message is sent. Payload and options are optional where the schema allows it. */
export type MessageArguments<S extends AnyMessageSchema, Options> =
  unknown extends PayloadInput<S>
    ? [payload?: PayloadInput<S>, options?: Options]
    : object extends Pick<MetaRequirement<S>, keyof MetaRequirement<S>>
      ? undefined extends PayloadInput<S>
        ? [payload?: PayloadInput<S>, options?: Options]
        : [payload: PayloadInput<S>, options?: Options]
      : [payload: PayloadInput<S>, options: Options & { readonly meta: MetaInput<S> }];

/** The `meta` option, required where the schema requires meta. */
export type MetaOption<S extends AnyMessageSchema> =
  object extends Pick<MetaRequirement<S>, keyof MetaRequirement<S>>
    ? unknown
    : { readonly meta: MetaInput<S> };

/** `{}` when the schema's meta can be left out. */
type MetaRequirement<S extends AnyMessageSchema> = unknown extends MetaOutput<S> ? object : MetaInput<S>;
