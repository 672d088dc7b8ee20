import type { AttackList } from "#test/support/rigs/attempts.ts";

const JSON_TYPE = "application/json";
const bytes = (...of: number[]) => new Uint8Array(of);
const text = (value: string) => new TextEncoder().encode(value);

export interface HostileBody {
  readonly type: string | null;
  readonly body: () => Uint8Array<ArrayBuffer>;
}
const json = (
  body: () => Uint8Array<ArrayBuffer>,
  type: string | null = JSON_TYPE,
): HostileBody => ({ type, body });

/** Bodies for every operation that takes JSON. */
export const HOSTILE_BODIES: Record<string, HostileBody> = {
  "no body where one is meant": json(() => text("")),
  "a list": json(() => text("[]")),
  "a list of lists": json(() => text("[[[[]]]]")),
  null: json(() => text("null")),
  "a text": json(() => text('"x"')),
  "a number": json(() => text("1e999")),
  "cut off": json(() => text('{"url":"http://site.te')),
  "rubbish behind it": json(() => text('{"url":"http://site.test/"} x')),
  "two of them": json(() => text("{}{}")),
  "names without quotes": json(() => text("{url:1}")),
  "a comment": json(() => text("/**/{}")),
  "members of every object": json(() =>
    text('{"__proto__":{"admin":true},"constructor":{"prototype":{"admin":true}}}'),
  ),
  "one name twice": json(() => text('{"url":"http://site.test/","url":{"$gt":""}}')),
  "an operator of a database": json(() =>
    text('{"url":{"$gt":""},"name":{"$ne":null},"id":{"$where":"1"}}'),
  ),
  "1 MB of escapes": json(() => text(`{"url":"${"\\u0000".repeat(170_000)}"}`)),
  "1 MB of brackets in a text": json(() => text(`{"url":"${"[".repeat(1_000_000)}"}`)),
  "1 MB of backslashes": json(() => text(`{"url":"${"\\\\".repeat(500_000)}"}`)),
  "a key of 1 MB": json(() => text(`{"${"k".repeat(1_000_000)}":1}`)),
  "20,000 keys": json(() =>
    text(`{${Array.from({ length: 20_000 }, (_, i) => `"k${i}":1`).join(",")}}`),
  ),
  "a number of 1 MB": json(() => text(`{"n":${"9".repeat(1_000_000)}}`)),
  "half a surrogate": json(() => text('{"url":"http://site.test/\\ud800"}')),
  "bytes that are no UTF-8": json(() => bytes(0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d)),
  "overlong quotes": json(() => bytes(0x7b, 0xc0, 0xa2, 0x61, 0xc0, 0xa2, 0x3a, 0x31, 0x7d)),
  "UTF-16": json(() => bytes(0xff, 0xfe, 0x7b, 0, 0x7d, 0)),
  "UTF-16 that says so": json(() => bytes(0x7b, 0, 0x7d, 0), "application/json; charset=utf-16"),
  "UTF-7 that says so": json(() => text("+AHsAfQ-"), "application/json; charset=utf-7"),
  compressed: json(() => Bun.gzipSync(text("{}")), JSON_TYPE),
  "larger than is taken": json(() => text(`{"url":"${"x".repeat(70_000_000)}"}`)),
  "plain text": json(() => text('{"url":"http://site.test/"}'), "text/plain"),
  "a form": json(() => text("url=http://site.test/"), "application/x-www-form-urlencoded"),
  "JSON that says it is a form": json(
    () => text('{"url":"http://site.test/"}'),
    "application/x-www-form-urlencoded",
  ),
  "a form of parts": json(
    () => text('--b\r\nContent-Disposition: form-data; name="url"\r\n\r\nx\r\n--b--'),
    "multipart/form-data; boundary=b",
  ),
  "parts without a boundary": json(() => text("x"), "multipart/form-data"),
  "XML with an entity": json(
    () => text('<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>'),
    "application/xml",
  ),
  "no type": json(() => text('{"url":"http://site.test/"}'), null),
  "a type that only begins so": json(
    () => text('{"url":"http://site.test/"}'),
    "application/jsonx",
  ),
  "two types": json(() => text('{"url":"http://site.test/"}'), "text/plain, application/json"),
};
/** Types of which a page may send bodies without asking first: none of them is read as JSON. */
export const SIMPLE_TYPES = ["plain text", "JSON that says it is a form", "no type", "two types"];

export const IN_BODIES: AttackList = {
  what: "Bodies that are cut, huge, of another type, or JSON that only looks so",
  file: "hostile-bodies.test.ts",
  attempts: Object.keys(HOSTILE_BODIES),
  on: "every route that takes JSON",
};
