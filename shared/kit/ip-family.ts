const OCTET = "(?:0|[1-9][0-9]?|1[0-9]{2}|2[0-4][0-9]|25[0-5])";
const V4 = new RegExp(`^${OCTET}(?:\\.${OCTET}){3}$`);
const V6_CHARACTERS = /^[0-9a-f:.]+$/i;
/** Bun's parser wrongly accepts `::1:`. */
const LONE_COLON = /^:[^:]|[^:]:$/;

/**
 * Like `isIP` of node:net, which the app in the browser lacks: 4, 6, or 0 for anything else, an address that URL
 * parsing does not accept included. A zone is not part of an address.
 */
export function ipFamily(text: string): 0 | 4 | 6 {
  if (V4.test(text)) return 4;
  const may_be_v6 = text.includes(":") && V6_CHARACTERS.test(text) && !LONE_COLON.test(text);
  return may_be_v6 && URL.canParse(`http://[${text}]/`) ? 6 : 0;
}
