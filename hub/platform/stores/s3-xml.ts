/** S3's answers are flat lists of elements without relevant attributes, so no full XML parser is needed. */

const ENTITIES: Record<string, string> = { lt: "<", gt: ">", amp: "&", quot: '"', apos: "'" };

const decode = (text: string): string =>
  text.replace(/&(?:#x([0-9a-f]{1,6})|#([0-9]{1,7})|([a-z]+));/gi, (whole, hex, dec, name) => {
    if (name !== undefined) return ENTITIES[name] ?? whole;
    return String.fromCodePoint(Number.parseInt(hex ?? dec, hex === undefined ? 10 : 16));
  });

/** What stands in every `<name>` of `xml`, as it is. */
export const blocksOf = (xml: string, name: string): string[] =>
  [...xml.matchAll(new RegExp(`<${name}(?:\\s[^>]*)?>([\\s\\S]*?)</${name}>`, "g"))].map(
    ([, inner]) => inner ?? "",
  );

/** The text of the first `<name>` of `xml`, decoded; null when there is none. */
export function textOf(xml: string, name: string): string | null {
  const [inner] = blocksOf(xml, name);
  return inner === undefined ? null : decode(inner);
}

const NAMES: Record<string, string> = {
  "<": "lt",
  ">": "gt",
  "&": "amp",
  '"': "quot",
  "'": "apos",
};

/** `text`, escaped to stand between tags. */
export const escapeXml = (text: string): string => text.replace(/[&<>"']/g, (c) => `&${NAMES[c]};`);
