import { withScheme } from "./missing-scheme.ts";

// biome-ignore lint/suspicious/noControlCharactersInRegex: controls are exactly what is refused
const CONTROLS = /[\u0000-\u0020\u007f]/;

/** Why a job cannot open this address; undefined when it is an absolute http or https URL (rules/jobs#submit-a-job). */
export function targetFault(raw: string): string | undefined {
  if (CONTROLS.test(raw)) return "must not contain spaces or control characters";
  const url = URL.canParse(raw) ? new URL(raw) : null;
  if (url?.protocol === "http:" || url?.protocol === "https:")
    return url.hostname === "" ? "must name a host" : undefined;
  const meant = withScheme(raw);
  if (meant) return `must begin with http:// or https://: did you mean ${meant}?`;
  return url
    ? `scheme ${url.protocol.slice(0, 40)} is not allowed: only http and https`
    : "must be an absolute URL";
}
