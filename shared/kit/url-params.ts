/** What stands for the value of a parameter: null takes the parameter out, undefined leaves it as it is written. */
type Change = (name: string, value: string) => string | null | undefined;

function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return text;
  }
}

const changed = (params: string, change: Change): string =>
  params
    .split("&")
    .flatMap((pair) => {
      const at = pair.indexOf("=");
      if (at < 0) return [pair];
      const to = change(decoded(pair.slice(0, at)), decoded(pair.slice(at + 1)));
      if (to === null) return [];
      return [to === undefined ? pair : `${pair.slice(0, at)}=${to}`];
    })
    .join("&");

const joined = (before: string, mark: string, params: string): string =>
  params === "" ? before : `${before}${mark}${params}`;

/** The fragment of an address: parameters alone, or a route with a query of its own. */
function changedFragment(fragment: string, change: Change): string {
  const at = fragment.indexOf("?");
  if (at >= 0) return joined(fragment.slice(0, at), "?", changed(fragment.slice(at + 1), change));
  return changed(fragment, change);
}

/** An address with other values of its parameters, in its query and in its fragment; the rest stays as it is written. */
export function changeParams(address: string, change: Change): string {
  const [rest = "", ...fragments] = address.split("#");
  const [path = "", ...queries] = rest.split("?");
  const query = changed(queries.join("?"), change);
  return joined(joined(path, "?", query), "#", changedFragment(fragments.join("#"), change));
}
