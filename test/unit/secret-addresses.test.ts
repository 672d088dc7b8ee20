import { describe, expect, test } from "bun:test";
import type { ChosenStep } from "#hub/ui/client/fleet/session/recorded/chosen.ts";
import { toPlaywright } from "#hub/ui/client/fleet/session/recorded/to-playwright.ts";
import { toPython } from "#hub/ui/client/fleet/session/recorded/to-python.ts";
import { toRecipe } from "#hub/ui/client/fleet/session/recorded/to-recipe.ts";
import { toScript } from "#hub/ui/client/fleet/session/recorded/to-script.ts";
import { isSecretParam } from "#shared/kit/secret-params.ts";
import { changeParams } from "#shared/kit/url-params.ts";
import { moveTo } from "#worker/browser/clicks/move-to.ts";

/** Secrets in addresses that somebody went to (rules/recorded-input#secrets-in-steps). */

const env = (name: string): string => ["$", `{ENV:${name}}`].join("");
const went = (url: string): ChosenStep => ({ id: 1, ...moveTo(url, 0).step }) as ChosenStep;
const urlOf = (url: string): string => (went(url) as { url: string }).url;

describe("a parameter that grants access", () => {
  test.each([
    ...["token", "access_token", "id_token", "api_key", "apikey", "password", "client_secret"],
    ...["code", "sid", "session_id", "PHPSESSIONID", "sig", "X-Amz-Signature", "auth", "key"],
    ...["AWSAccessKeyId", "X-Amz-Credential", "ticket", "csrfToken", "jwt", "otp"],
  ])("is known by its name: %s", (name) => {
    expect(isSecretParam(name, "1")).toBe(true);
    expect(isSecretParam(name, "")).toBe(false);
  });

  test.each(["q", "page", "keyword", "postcode", "design", "tokens_left", "author", "lang"])(
    "and %s is none",
    (name) => {
      expect(isSecretParam(name, "value")).toBe(false);
    },
  );

  test("is known by a value that is a token, whatever its name", () => {
    const jwt = ["eyJhbGciOi", "eyJzdWIiOi", "c2ln"].join(".");
    const of_hub = `flt_${"a".repeat(43)}`;
    expect([jwt, of_hub, "eyJ", "flt_"].map((value) => isSecretParam("next", value))).toEqual([
      ...[true, true, false, false],
    ]);
  });
});

test("parameters are changed in the query and in the fragment, and nothing else is", () => {
  const drop = (url: string) => changeParams(url, (name) => (name === "t" ? null : undefined));
  expect(drop("https://a.test/p?x=%20&t=1&y=a+b&t=2&flag#t=3&z=1")).toBe(
    "https://a.test/p?x=%20&y=a+b&flag#z=1",
  );
  expect(drop("https://a.test/#/route?t=1&x=2")).toBe("https://a.test/#/route?x=2");
  expect(drop("https://a.test/?t=a?b#t=1")).toBe("https://a.test/");
  expect(drop("https://a.test/?x=%E0%A4%A#top")).toBe("https://a.test/?x=%E0%A4%A#top");
  expect(changeParams("https://a.test/?%74=1", () => "2")).toBe("https://a.test/?%74=2");
});

test("an address is recorded with placeholders that are named after site and parameter", () => {
  expect(
    went("https://ada:pw@app.shop.test/in?next=%2Fa&access_token=s3cret&x=1#id_token=other"),
  ).toMatchObject({
    url: `https://app.shop.test/in?next=%2Fa&access_token=${env("SHOP_ACCESS_TOKEN")}&x=1#id_token=${env("SHOP_ID_TOKEN")}`,
    page: "https://app.shop.test/in",
    secrets: [
      { variable: "SHOP_ACCESS_TOKEN", host: "app.shop.test" },
      { variable: "SHOP_ID_TOKEN", host: "app.shop.test" },
    ],
  });
  expect(urlOf("http://127.0.0.1:8000/?token=s3cret")).toBe(
    `http://127.0.0.1:8000/?token=${env("SITE_TOKEN")}`,
  );
  expect(went("https://shop.test/?q=rope")).toMatchObject({ url: "https://shop.test/?q=rope" });
});

test("no more secrets than a step names are placeholders; the others are taken out", () => {
  const many = Array.from({ length: 30 }, (_, i) => `a${i}_token=s3cret${i}`).join("&");
  const { url, secrets } = went(`https://shop.test/?${many}`) as Extract<
    ChosenStep,
    { kind: "navigate" }
  >;
  expect(secrets).toHaveLength(20);
  expect(url.match(/ENV:/g)).toHaveLength(20);
  expect(url).not.toContain("s3cret");
});

describe("what such an address is written as (rules/recorded-input#what-steps-become)", () => {
  // The last parameter only looks like a placeholder of the recorder.
  const steps: ChosenStep[] = [went(`https://shop.test/in?token=s3cret&q=${env("HOME")}`)];
  const again: ChosenStep[] = [...steps, { ...steps[0], id: 2 } as ChosenStep];

  test("programs read it from their environment, and nothing else that an address asks for", () => {
    expect(toPlaywright(steps).body).toContain(
      `goto("https://shop.test/in?token=" + encodeURIComponent(process.env.SHOP_TOKEN ?? "") + "&q=${env("HOME")}");`,
    );
    const { body } = toPython(again);
    const code = `"https://shop.test/in?token=" + quote(os.environ["SHOP_TOKEN"], safe="") + "&q=${env("HOME")}"`;
    expect(body).toContain(`open({"url": ${code}})`);
    expect(body).toContain(`session.navigate(url=${code})`);
    expect(body).toContain("from urllib.parse import quote");
    expect(toPython([went("https://shop.test/")]).body).not.toContain("quote");
  });

  test("recipes and scripts go to the address without it, and say so", () => {
    const address = `https://shop.test/in?q=${env("HOME")}`;
    const note = `What looks like a secret in the address ${address} is left out.`;
    expect(toRecipe(again)).toEqual({
      starts_at: address,
      body: [{ kind: "navigate", url: address }],
      notes: [note],
    });
    const script = toScript(again);
    expect(script).toMatchObject({ starts_at: address, notes: [note] });
    expect(script.body).toContain(`session.navigate("${address}")`);
  });
});
