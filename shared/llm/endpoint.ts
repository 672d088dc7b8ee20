/**
 * The URL of the call (rules/engines#endpoint-of-an-engine): the value itself when it ends with /chat/completions, else with
 * /v1/chat/completions appended. A version that the value already ends with (`http://host/v1`) is not repeated.
 */
export function completionsUrl(endpoint: string): string {
  const url = new URL(endpoint);
  const path = url.pathname.replace(/\/+$/, "");
  if (/\/chat\/completions$/.test(path)) return url.href;
  url.pathname = `${path}${/\/v\d+\w*$/.test(path) ? "" : "/v1"}/chat/completions`;
  return url.href;
}
