import type { Meters } from "./meters.ts";

/** What the uploads of all jobs of a worker came to (rules/metrics#of-a-worker). */
export type UploadMeters = ReturnType<typeof createUploadMeters>;

export function createUploadMeters(meters: Meters) {
  const captured = meters.counter(
    "flotilla_worker_capture_bytes_total",
    "Bytes of the bodies that were captured, before they are stored",
  );
  const ended = meters.counter(
    "flotilla_worker_uploads_total",
    "Bodies and documents whose upload has ended: stored or failed",
    ["outcome"],
  );
  const stored = meters.counter("flotilla_worker_upload_bytes_total", "Bytes that were stored");
  const waiting = meters.gauge(
    "flotilla_worker_uploads_waiting",
    "Bodies and documents that are not stored yet",
  );
  const waiting_bytes = meters.gauge(
    "flotilla_worker_uploads_waiting_bytes",
    "Bytes of these bodies and documents",
  );
  const left = { count: 0, bytes: 0 };
  meters.reading("uploads", [waiting, waiting_bytes], () => {
    waiting.set(left.count);
    waiting_bytes.set(left.bytes);
  });
  return {
    begun: (bytes: number, is_document: boolean) => {
      left.count += 1;
      left.bytes += bytes;
      if (!is_document) captured.inc({}, bytes);
    },
    ended: (bytes: number, is_stored: boolean) => {
      left.count -= 1;
      left.bytes -= bytes;
      ended.inc({ outcome: is_stored ? "stored" : "failed" });
      if (is_stored) stored.inc({}, bytes);
    },
  };
}
