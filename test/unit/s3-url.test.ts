import { expect, test } from "bun:test";
import { createS3Calls } from "#hub/platform/stores/s3-calls.ts";
import { readS3Url } from "#hub/platform/stores/s3-url.ts";
import { blocksOf, escapeXml, textOf } from "#hub/platform/stores/s3-xml.ts";
import { systemClock } from "#shared/kit/clock.ts";

const urlOf = async (url: string, key: string): Promise<string> => {
  const keys = { access_key_id: "KEY", secret_access_key: "secret" };
  const calls = createS3Calls(readS3Url(url), keys, { clock: systemClock, random: Math.random });
  const signed = await calls.presign({ method: "GET", key }, 60);
  return signed.url.split("?")[0] ?? "";
};

test("SVC_OBJECTS_URL=s3://: path style at an endpoint, the host's name at Amazon or when asked for, keys percent-encoded", async () => {
  const at = "endpoint=https://minio.lan:9000";
  expect(await urlOf(`s3://box?${at}`, "a/b")).toBe("https://minio.lan:9000/box/a/b");
  expect(await urlOf(`s3://box/deep/er/?${at}`, "a")).toBe("https://minio.lan:9000/box/deep/er/a");
  expect(await urlOf(`s3://box?${at}&virtual_hosted=1`, "a")).toBe("https://box.minio.lan:9000/a");
  expect(await urlOf("s3://box?region=eu-west-1", "a")).toBe(
    "https://box.s3.eu-west-1.amazonaws.com/a",
  );
  expect(await urlOf("s3://my.box", "a")).toBe("https://s3.us-east-1.amazonaws.com/my.box/a");
  expect(await urlOf(`s3://box?${at}`, "ä b/c+d'(e)!*&?#.txt")).toBe(
    "https://minio.lan:9000/box/%C3%A4%20b/c%2Bd%27%28e%29%21%2A%26%3F%23.txt",
  );
});

test("what cannot name a bucket is an error naming the variable", () => {
  for (const url of [
    "s3://",
    "s3://Box_1?endpoint=http://x",
    "s3://box?endpoint=http://x/path",
    "s3://box?endpoint=x",
    "s3://box/../up?endpoint=http://x/y",
    "s3://box?virtual_hosted=maybe",
    "s3://box?region=EU%20WEST",
    "s3://box/%zz",
  ])
    expect(() => readS3Url(url)).toThrow(/^SVC_OBJECTS_URL: /);
});

test("answers of S3: elements are read with their entities, text is escaped for them", () => {
  const xml =
    '<R xmlns="x"><C><Key>a&amp;b&#39;&#x41;</Key></C><C><Key/></C><C><Key></Key></C></R>';
  expect(blocksOf(xml, "C").map((block) => textOf(block, "Key"))).toEqual(["a&b'A", null, ""]);
  expect(textOf(`<T>${escapeXml(`<&>"'`)}</T>`, "T")).toBe(`<&>"'`);
});
