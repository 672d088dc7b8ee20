/** What the index says of one record. */
export interface Indexed {
  url: string;
  date: string;
  /** Absent where the answer named none. */
  mime?: string;
  /** Absent for what is no answer. */
  status?: number;
  digest: string;
  /** Of a request that is no GET, and the type of the body that it had. */
  asked?: { method: string; mime: string };
}

export interface Place {
  filename: string;
  offset: number;
  length: number;
}

/** Types whose fields replay reads into parameters; the bodies of requests were not recorded. */
const READ_AS_FIELDS = /^(application\/(x-www-form-urlencoded|json)|multipart\/form-data)$/;

/** A line of a CDXJ index, without its line break. */
export function cdxjLine(indexed: Indexed, { filename, offset, length }: Place): string {
  const { url, date, mime, status, digest, asked } = indexed;
  const json = JSON.stringify({
    url,
    ...(mime === undefined ? {} : { mime }),
    ...(status === undefined ? {} : { status: String(status) }),
    digest,
    length: String(length),
    offset: String(offset),
    filename,
    ...(asked === undefined ? {} : { method: asked.method }),
  });
  return `${surtOf(lookedUpAs(url, asked))} ${date.replace(/\D/g, "").slice(0, 14)} ${json}`;
}

/** Replay asks for a POST as for a GET with these parameters. */
function lookedUpAs(url: string, asked: Indexed["asked"]): string {
  if (!asked) return url;
  const data = READ_AS_FIELDS.test(asked.mime) ? "" : "__wb_post_data=";
  return `${url}${url.includes("?") ? "&" : "?"}__wb_method=${asked.method}&${data}`;
}

/**
 * The key by which replay looks a URL up: host reversed, in lower case, without `www.`, with its parameters sorted. Other
 * schemes than HTTP stay as they are.
 */
export function surtOf(url: string): string {
  if (!/^https?:/.test(url)) return url;
  const plain = url.replace(/^(https?:\/\/)www\d*\./, "$1").toLowerCase();
  if (!URL.canParse(plain)) return url;
  const { hostname, port, pathname, search } = new URL(plain);
  const host = hostname.split(".").reverse().join(",");
  const query = search === "" ? "" : `?${search.slice(1).split("&").sort().join("&")}`;
  return `${host}${port === "" ? "" : `:${port}`})${pathname}${query}`;
}
