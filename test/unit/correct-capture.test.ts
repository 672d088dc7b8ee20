import { describe, expect, test } from "bun:test";
import type { CaptureReport } from "#shared/protocol/schema/job.ts";
import { correctCapture } from "#worker/browser/jobs/run-job.ts";

const report: CaptureReport = {
  seen: 10,
  captured: 7,
  partial: 2,
  lost: 1,
  skipped: 3,
  ratio: 0.7,
  reasons: { aborted: 2, evicted: 1 },
  method: "durable",
};
const failed = (was: "captured" | "partial" | "document") => ({ name: "n", reason: "r", was });

describe("the capture report after uploads", () => {
  test("is untouched when only documents failed", () => {
    expect(correctCapture(report, [failed("document")])).toBe(report);
  });
  test("counts a whole body that was not stored as lost, with the reason upload_failed", () => {
    expect(correctCapture(report, [failed("captured"), failed("captured")])).toEqual({
      ...report,
      captured: 5,
      lost: 3,
      ratio: 0.5,
      reasons: { aborted: 2, evicted: 1, upload_failed: 2 },
    });
  });
  test("counts a partial body as lost under the reason it has already", () => {
    expect(correctCapture(report, [failed("partial")])).toEqual({ ...report, partial: 1, lost: 2 });
  });
  test("keeps seen = captured + partial + lost and its reasons in step", () => {
    const { seen, captured, partial, lost, reasons } = correctCapture(report, [
      failed("captured"),
      failed("partial"),
      failed("document"),
    ]);
    expect(captured + partial + lost).toBe(seen);
    expect(Object.values(reasons).reduce((a, b) => a + b, 0)).toBe(partial + lost);
  });
});
