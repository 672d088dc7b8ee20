import { describe, expect, test } from "bun:test";
import { gzipSync } from "node:zlib";
import { MAX_SITEMAP_BYTES, readSitemap } from "#hub/plugins/crawl/sitemaps.ts";

const bytes = (text: string) => new TextEncoder().encode(text);
const PAGES = `<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:image="http://www.google.com/schemas/sitemap-image/1.1">
<url><loc> https://example.com/?a=1&amp;b=2 </loc><image:image><image:loc>https://example.com/a.png</image:loc></image:image></url>
<url><loc><![CDATA[https://example.com/b]]></loc><lastmod>2026-01-01</lastmod></url>
</urlset>`;
const FOUND = ["https://example.com/?a=1&b=2", "https://example.com/b"];

describe("a sitemap (rules/pipeline-crawl#sitemaps)", () => {
  test("in XML, compressed or not, names its pages and not their pictures", () => {
    expect(readSitemap(bytes(PAGES))).toEqual({ pages: FOUND, sitemaps: [], is_cut: false });
    expect(readSitemap(gzipSync(PAGES)).pages).toEqual(FOUND);
  });

  test("of sitemaps names those", () => {
    const text =
      "<sitemapindex><sitemap><loc>https://example.com/1.xml</loc></sitemap></sitemapindex>";
    expect(readSitemap(bytes(text))).toEqual({
      pages: [],
      sitemaps: ["https://example.com/1.xml"],
      is_cut: false,
    });
  });

  test("in text has an address on each line", () => {
    expect(readSitemap(bytes(`\n${FOUND.join("\r\n")}\n`)).pages).toEqual(FOUND);
  });

  test("that breaks off gives what came before, and says so", () => {
    const broken = bytes(PAGES.slice(0, PAGES.indexOf("<lastmod>")));
    expect(readSitemap(broken)).toMatchObject({ pages: FOUND, is_cut: true });
    expect(readSitemap(bytes("<html><p>not found<br></html>")).pages).toEqual([]);
    expect(readSitemap(bytes("")).pages).toEqual([]);
  });

  test("in text whose end is missing does not give the address at the cut", () => {
    const [first, second] = FOUND;
    const is_cut = true;
    expect(readSitemap(bytes(`${first}\n${second}`), is_cut).pages).toEqual([first] as string[]);
    expect(readSitemap(bytes(`${first}\n${second}\n`), is_cut).pages).toEqual(FOUND);
  });

  test("whose compressed form breaks off gives what can be unpacked", () => {
    const numbers = [...Array(5_000).keys()].map((n) => `https://example.com/${Bun.hash(`${n}`)}`);
    const packed = gzipSync(numbers.join("\n"));
    const { pages, is_cut } = readSitemap(packed.subarray(0, packed.length / 2));
    expect(is_cut).toBe(true);
    expect(pages.length).toBeGreaterThan(1_000);
    expect(pages).toEqual(numbers.slice(0, pages.length));
  });

  test("does not expand what its document type declares", () => {
    const bomb = `<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;">]><urlset><url><loc>https://example.com/&b;</loc></url></urlset>`;
    expect(readSitemap(bytes(bomb)).pages.join("").length).toBeLessThan(60);
  });

  test("that unpacks to more than 50 MiB is refused", () => {
    const long = gzipSync(Buffer.alloc(MAX_SITEMAP_BYTES + 1, " "));
    expect(() => readSitemap(long)).toThrow();
  });
});
