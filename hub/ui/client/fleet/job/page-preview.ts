import type { Asset } from "#shared/protocol/schema/asset.ts";

/** Elements that run, load or lead somewhere. */
const REMOVED =
  "script, noscript, iframe, frame, object, embed, applet, base, meta[http-equiv], template, audio, track";
const ADDRESSES = [
  "src",
  "srcset",
  "href",
  "xlink:href",
  "poster",
  "background",
  "data",
  "action",
  "formaction",
  "ping",
  "imagesrcset",
  "manifest",
];
const MOST_BYTES = { one: 1_000_000, all: 12_000_000 };

interface PreviewInput {
  html: string;
  /** Address of the page, the base of its relative addresses. */
  url: string;
  assets: readonly Asset[];
  /** Allows the style elements of the preview, as its frame is under the policy of this page. */
  nonce: string;
  /** A body as a data: URL, or as text. */
  readData(asset: Asset): Promise<string>;
  readText(asset: Asset): Promise<string>;
}

/**
 * The captured page as a document that holds everything it shows: pictures and styles come from the captured bodies,
 * nothing runs and nothing is asked of any other origin.
 */
export async function previewOf({
  html,
  url,
  assets,
  nonce,
  readData,
  readText,
}: PreviewInput): Promise<string> {
  // Neither runs nor loads anything.
  const doc = new DOMParser().parseFromString(quietOf(html, nonce), "text/html");
  const base = doc.querySelector("base")?.getAttribute("href") ?? "";
  const home = URL.canParse(base, url) ? new URL(base, url).href : url;
  const known = new Map(assets.map((asset) => [asset.source_url, asset]));
  let left = MOST_BYTES.all;
  const find = (raw: string | null, against = home): Asset | null => {
    if (!raw || !URL.canParse(raw, against)) return null;
    const at = new URL(raw, against);
    const asset = known.get(at.href) ?? known.get(at.href.replace(/#.*/, ""));
    if (!asset || asset.size > MOST_BYTES.one || asset.size > left) return null;
    left -= asset.size;
    return asset;
  };
  const data = async (raw: string | null, against?: string): Promise<string | null> => {
    if (raw?.startsWith("data:image/")) return raw;
    const asset = find(raw, against);
    return asset?.kind === "image" ? readData(asset).catch(() => null) : null;
  };
  const css = async (text: string, against = home): Promise<string> => {
    const plain = text.replace(/@import[^;]*;?/gi, "");
    const urls = new Set([...plain.matchAll(URLS)].map((match) => match[2] ?? ""));
    const found = new Map(
      await Promise.all([...urls].map(async (raw) => [raw, await data(raw, against)] as const)),
    );
    return plain.replace(URLS, (_, _quote, raw) => `url("${found.get(raw) ?? "data:,"}")`);
  };

  for (const element of doc.querySelectorAll(REMOVED)) element.remove();
  for (const style of doc.querySelectorAll("style")) {
    style.setAttribute("nonce", nonce);
    style.textContent = await css(style.textContent ?? "");
  }
  for (const link of doc.querySelectorAll("link")) {
    const asset = link.relList.contains("stylesheet") ? find(link.getAttribute("href")) : null;
    if (asset) {
      const style = doc.createElement("style");
      style.setAttribute("nonce", nonce);
      const media = link.getAttribute("media");
      if (media) style.setAttribute("media", media);
      style.textContent = await css(await readText(asset).catch(() => ""), asset.source_url);
      link.before(style);
    }
    link.remove();
  }
  // The policy does not allow style attributes: each becomes a rule.
  const rules: string[] = [];
  for (const element of doc.querySelectorAll(`[${STYLE}]`)) {
    const text = element.getAttribute(STYLE) ?? "";
    element.removeAttribute(STYLE);
    element.setAttribute("data-inline", String(rules.length));
    rules.push(`[data-inline="${rules.length}"]{${(await css(text)).replace(/[{}]/g, "")}}`);
  }
  for (const element of doc.querySelectorAll("*")) {
    const picture = element.matches("img, input[type=image]")
      ? await data(element.getAttribute("src"))
      : null;
    const title = element.matches("a[href]") ? element.getAttribute("href") : null;
    for (const name of ADDRESSES) {
      const inner = name.endsWith("href") && element.getAttribute(name)?.startsWith("#");
      if (!inner) element.removeAttribute(name);
    }
    for (const { name } of [...element.attributes])
      if (name.startsWith("on")) element.removeAttribute(name);
    if (picture) element.setAttribute("src", picture);
    if (title) element.setAttribute("title", title);
  }
  const extra = doc.createElement("style");
  extra.setAttribute("nonce", nonce);
  extra.textContent = `a[title]{text-decoration:underline}${rules.join("\n")}`;
  doc.head.append(extra);
  return `<!doctype html>${doc.documentElement.outerHTML}`;
}

const URLS = /url\(\s*(["']?)((?:[^"')\\]|\\.)*)\1\s*\)/gi;
/** Where a style attribute waits to become a rule. */
const STYLE = "data-flotilla-style";
const TAG = /<([a-z][^\s/>]*)((?:\s+[^\s=>"]+(?:="[^"]*")?)*)\s*>/gi;
const ATTRIBUTE = /\s+([^\s=>"]+)((?:="[^"]*")?)/g;

/**
 * The parser already tells the policy's violations by handlers and styles in what it reads, so they are put aside in the
 * text: a browser has written it, with every value in double quotes. What this misses the policy refuses.
 */
const quietOf = (html: string, nonce: string): string =>
  html.replace(TAG, (_, tag: string, attributes: string) => {
    const kept = attributes.replace(ATTRIBUTE, (all: string, name: string, value: string) => {
      if (/^(on|nonce$)/i.test(name)) return "";
      return /^style$/i.test(name) ? ` ${STYLE}${value}` : all;
    });
    return `<${tag}${kept}${/^style$/i.test(tag) ? ` nonce="${nonce}"` : ""}>`;
  });
