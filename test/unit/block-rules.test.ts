import { describe, expect, test } from "bun:test";
import { adHosts } from "#hub/fleet/registries/ad-hosts.ts";
import { Block } from "#shared/protocol/schema/block.ts";
import { createBlockRules } from "#worker/browser/block/block-rules.ts";

/** rules/browser-options#blocking */

const page_url = "https://news.test/today";
const ask = (url: string, type = "script") => ({ url, type, page_url });

describe("a request is blocked", () => {
  test("by its kind, whatever its host", () => {
    const reasonFor = createBlockRules({ types: ["image", "font"] }, []);
    expect(reasonFor(ask("https://news.test/a.png", "image"))).toBe("types");
    expect(reasonFor(ask("https://news.test/a.js", "script"))).toBeNull();
    expect(reasonFor(ask("https://news.test/frame", "document"))).toBeNull();
  });

  test("by its host and by what is above it, but not by a name that only ends alike", () => {
    const reasonFor = createBlockRules({ hosts: ["ads.test", "10.0.0.1"] }, []);
    expect(reasonFor(ask("https://ads.test/a.js"))).toBe("hosts");
    expect(reasonFor(ask("https://a.b.ads.test:8443/a.js"))).toBe("hosts");
    expect(reasonFor(ask("http://10.0.0.1/a.js"))).toBe("hosts");
    expect(reasonFor(ask("https://goads.test/a.js"))).toBeNull();
    expect(reasonFor(ask("https://test/a.js"))).toBeNull();
    expect(reasonFor(ask("data:text/javascript,1"))).toBeNull();
  });

  test("by its whole URL", () => {
    const reasonFor = createBlockRules({ patterns: ["*/track/*", "https://cdn.test/lib.js"] }, []);
    expect(reasonFor(ask("https://any.test/track/1"))).toBe("patterns");
    expect(reasonFor(ask("https://cdn.test/lib.js"))).toBe("patterns");
    expect(reasonFor(ask("https://cdn.test/lib.js?v=2"))).toBeNull();
  });

  test("because it goes to a host of advertising, on pages of others alone", () => {
    const hosts = ["ads.test"];
    const reasonFor = createBlockRules({ ads: true }, hosts);
    expect(reasonFor(ask("https://cdn.ads.test/a.js"))).toBe("ads");
    expect(
      reasonFor({ ...ask("https://cdn.ads.test/a.js"), page_url: "https://ads.test/" }),
    ).toBeNull();
    expect(reasonFor({ ...ask("https://cdn.ads.test/a.js"), page_url: "" })).toBe("ads");
    expect(createBlockRules({}, hosts)(ask("https://cdn.ads.test/a.js"))).toBeNull();
  });
});

test("ads are at the hosts of a list that is kept by others", async () => {
  const ad_hosts = await adHosts();
  expect(ad_hosts.length).toBeGreaterThan(1_000);
  expect(ad_hosts).toContain("doubleclick.net");
  expect(ad_hosts.filter((host) => !Block.safeParse({ hosts: [host] }).success)).toEqual([]);
});

test("what is no host, kind or pattern is refused", () => {
  const refused = [
    { hosts: ["https://ads.test"] },
    { hosts: ["Ads.test"] },
    { hosts: ["*.ads.test"] },
    { types: ["document"] },
    { patterns: [""] },
    { trackers: true },
  ];
  for (const block of refused)
    expect([block, Block.safeParse(block).success]).toEqual([block, false]);
});
