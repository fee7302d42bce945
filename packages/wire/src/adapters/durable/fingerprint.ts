/** A text that changes when a value changes, and an upper bound of the value's size in the platform's format. */

/** Upper bound for one number, tag or length in the platform's format. */
const UNIT_BYTES = 10;
const LATIN = /^[\0-\xff]*$/;

/** For any value that can be cloned; for other values, the later clone throws. */
export function fingerprint(value: unknown): { readonly text: string; readonly bytes: number } {
  let bytes = UNIT_BYTES;
  const seen = new Map<object, number>();
  const buffers = new Set<ArrayBufferLike>();

  const ofText = (text: string): string => {
    bytes += UNIT_BYTES + (LATIN.test(text) ? text.length : 2 * text.length);
    return JSON.stringify(text);
  };
  const ofMany = (values: Iterable<unknown>): string => {
    let text = "";
    for (const each of values) text += `${of(each)},`;
    return text;
  };
  const ofObject = (object: object): string => {
    const at = seen.get(object);
    // A repeated object: the clone contains a reference to it.
    if (at !== undefined) return `^${at}`;
    seen.set(object, seen.size);
    if (Array.isArray(object)) return `[${ofMany(object)}]`;
    if (object instanceof Date) return `D${object.getTime()}`;
    if (object instanceof RegExp) return `R${ofText(object.source)}${object.flags}`;
    if (object instanceof Map) return `M(${ofMany([...object].flat())})`;
    if (object instanceof Set) return `S(${ofMany(object)})`;
    if (object instanceof Error) {
      const { name, message, stack, cause } = object;
      return `E${ofMany([name, message, stack, cause, ...Object.entries(object).flat()])}`;
    }
    if (object instanceof ArrayBuffer) return ofBytes(new Uint8Array(object));
    if (ArrayBuffer.isView(object))
      return (
        object.constructor.name + ofBytes(new Uint8Array(object.buffer, object.byteOffset, object.byteLength))
      );
    return `{${ofMany(Object.entries(object).flat())}}`;
  };
  const ofBytes = (view: Uint8Array): string => {
    // A clone contains the whole buffer of a view, once for all views of the same buffer.
    if (!buffers.has(view.buffer)) bytes += view.buffer.byteLength;
    buffers.add(view.buffer);
    return `B${view.join()}`;
  };
  const of = (each: unknown): string => {
    bytes += UNIT_BYTES;
    if (typeof each === "string") return ofText(each);
    if (typeof each === "object" && each !== null) return ofObject(each);
    if (typeof each === "bigint") return `${ofText(String(each))}n`;
    return Object.is(each, -0) ? "-0" : String(each);
  };

  const text = of(value);
  return { text, bytes };
}
