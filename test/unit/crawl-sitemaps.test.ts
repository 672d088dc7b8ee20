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
    expect(readSitemap(bytes(PAGES))).toEqual({ pages: FOUND, sitemaps: [] });
    expect(readSitemap(gzipSync(PAGES)).pages).toEqual(FOUND);
  });

  test("of sitemaps names those", () => {
    const text =
      "<sitemapindex><sitemap><loc>https://example.com/1.xml</loc></sitemap></sitemapindex>";
    expect(readSitemap(bytes(text))).toEqual({
      pages: [],
      sitemaps: ["https://example.com/1.xml"],
    });
  });

  test("in text has an address on each line", () => {
    expect(readSitemap(bytes(`\n${FOUND.join("\r\n")}\n`)).pages).toEqual(FOUND);
  });

  test("that breaks off gives what came before", () => {
    expect(readSitemap(bytes(PAGES.slice(0, PAGES.indexOf("<lastmod>")))).pages).toEqual(FOUND);
    expect(readSitemap(bytes("<html><p>not found<br></html>")).pages).toEqual([]);
    expect(readSitemap(bytes("")).pages).toEqual([]);
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
