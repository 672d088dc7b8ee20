/** What a secret field is for, by its autocomplete, and how its placeholder ends. */
const ENDINGS: [RegExp, string][] = [
  [/one-time-code/i, "ONE_TIME_CODE"],
  [/cc-csc/i, "CARD_CODE"],
  [/cc-exp/i, "CARD_EXPIRY"],
  [/cc-name/i, "CARD_NAME"],
  [/cc-/i, "CARD_NUMBER"],
];
const BY_NAME: [RegExp, string][] = [
  [/\botp\b|one.?time|code/i, "ONE_TIME_CODE"],
  [/\bpin\b/i, "PIN"],
  [/\bcv[cv]\b/i, "CARD_CODE"],
  [/card/i, "CARD_NUMBER"],
];

const endingOf = (autocomplete: string, type: string | null, name: string): string =>
  ENDINGS.find(([kind]) => kind.test(autocomplete))?.[1] ??
  (type === "password" ? "PASSWORD" : BY_NAME.find(([word]) => word.test(name))?.[1]) ??
  "PASSWORD";

/** The part of a host that people know it by; an address has none. */
function siteOf(host: string): string {
  if (/^[\d.]+$|:|^localhost$/.test(host)) return "SITE";
  const labels = host.replace(/^www\./, "").split(".");
  const known = labels.at(labels.length > 2 && (labels.at(-2)?.length ?? 0) <= 3 ? -3 : -2) ?? host;
  const name = known.toUpperCase().replace(/[^A-Z0-9]+/g, "_");
  return /^[A-Z_]/.test(name) ? name : `SITE_${name}`;
}

/**
 * The variable that stands for what was entered into a secret field (rules/recorded-input#secrets-in-steps):
 * `BLUEFIN_MARINA_PASSWORD`.
 */
export const variableFor = (
  host: string,
  field: { autocomplete: string; type: string | null; name: string },
): string =>
  `${siteOf(host)}_${endingOf(field.autocomplete, field.type, field.name)}`.slice(0, 100);

/** The same for a parameter of an address: `BLUEFIN_MARINA_ACCESS_TOKEN`. */
export const variableOfParam = (host: string, name: string): string =>
  `${siteOf(host)}_${name.toUpperCase().replace(/[^A-Z0-9]+/g, "_")}`.slice(0, 100);
