import { describe, expect, test } from "bun:test";
import { bodyOf, curlOf } from "#hub/ui/client/fleet/submit/body.ts";
import { labelsWritten, labelTexts, readLabels } from "#hub/ui/client/forms/labels.ts";
import { SubmitJob } from "#shared/protocol/schema/job.ts";

/** Labels as people write and read them in the app (rules/labels#what-a-label-is). */

const draft = { url: "https://a.test/", preset: null, given: {}, labels: [] as string[] };

describe("labels in a form", () => {
  test("are a key and a value, which the first colon divides", () => {
    const written = ["team:growth", "url:http://a.test/", "draft:", " ticket : OPS-41 "];
    expect(readLabels(written)).toEqual({
      value: { team: "growth", url: "http://a.test/", draft: "", ticket: "OPS-41" },
      fault: undefined,
    });
    expect(readLabels([])).toEqual({ value: {}, fault: undefined });
  });

  test("are refused before they are sent where the API would refuse them, with the label that is meant", () => {
    const faultOf = (...written: string[]) => readLabels(written).fault;
    expect(faultOf("team")).toBe("“team” is not a label: write key:value");
    expect(faultOf("-a:b")).toBe(
      "“-a:b”: the key of a label has letters, digits, _ . / and -, and begins with a letter or a digit",
    );
    expect(faultOf("ok:1", "a b:c")).toStartWith("“a b:c”: the key of a label has letters");
    expect(faultOf("a:1", "a:2")).toBe("“a” is there twice, and a key has one value");
    expect(faultOf(...Array.from({ length: 17 }, (_, i) => `k${i}:v`))).toBe("at most 16 labels");
    for (const wrong of ["team", "-a:b", `${"k".repeat(64)}:v`, `k:${"v".repeat(201)}`, "k:\u0007"])
      expect([wrong, faultOf(wrong)]).toEqual([wrong, expect.any(String)]);
    const longest = `${"k".repeat(63)}:${"v".repeat(200)}`;
    expect(faultOf(longest)).toBeUndefined();
    const labels = readLabels([longest]).value;
    expect(SubmitJob.safeParse({ url: draft.url, labels }).success).toBe(true);
  });

  test("come from an address, and from an earlier job in the order of their keys", () => {
    const params = new URLSearchParams("label=team:growth&label=a:b");
    expect(labelsWritten(params, { team: "old", z: "1" })).toEqual(["team:growth", "a:b"]);
    expect(labelsWritten(new URLSearchParams(), { team: "old", z: "1" })).toEqual([
      "team:old",
      "z:1",
    ]);
    expect(labelsWritten(new URLSearchParams(), undefined)).toEqual([]);
    expect(labelTexts({ z: "", a: "b" })).toEqual(["a:b", "z:"]);
  });
});

describe("a new capture", () => {
  test("has the labels that were written, and nothing of them where there are none", () => {
    expect(bodyOf({ ...draft, labels: ["team:growth"] })).toEqual({
      url: draft.url,
      labels: { team: "growth" },
    });
    expect(bodyOf(draft)).toEqual({ url: draft.url });
  });

  test("has them in its command, too", () => {
    const command = curlOf({ ...draft, labels: ["team:growth"] }, "http://hub");
    expect(command).toContain('"labels": {\n    "team": "growth"\n  }');
  });
});
