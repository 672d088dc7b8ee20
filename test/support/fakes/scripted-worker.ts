import type { HubAssignJob, HubSessionCall, SessionReply } from "#shared/protocol/link/messages.ts";
import type { TestHub } from "../rigs/hub.ts";
import type { FakeWorker, FakeWorkerOptions } from "./fake-worker.ts";

/** A worker without browsers whose pages scripts may drive: every call is answered as by a page of two lines. */
export const scriptedCalls = (call: HubSessionCall): Partial<SessionReply> => {
  const place = { url: "http://site.test/page", title: "Page", tabs: 1, dialogs: [] };
  return { result: resultOf(call), place };
};

function resultOf({ action, args }: HubSessionCall): unknown {
  switch (action) {
    case "snapshot":
      return { url: "http://site.test/page", title: "Page", aria: "- heading: Page", links: [] };
    case "screenshot":
      return { mime: "image/png", content_base64: Buffer.from("a picture").toString("base64") };
    case "network":
      return { entries: [], next: 1, dropped: 0 };
    case "take_name":
      return { name: args.name };
    case "evaluate":
      return false;
    default:
      return { action, args };
  }
}

/** Connects such a worker: scripted jobs are ready at once and end as the hub says, fetch jobs are left to the test. */
export async function scriptedWorker(
  hub: TestHub,
  options: FakeWorkerOptions = {},
): Promise<FakeWorker> {
  const worker = await hub.worker({ on_call: scriptedCalls, ...options });
  const isScripted = ({ options: { mode } }: HubAssignJob) => mode !== "fetch";
  void (async () => {
    for (;;) {
      const job = await worker.assigned.next(isScripted);
      worker.ready(job);
      void worker.messages
        .next((m) => m.type === "HubEndRun" && m.job_id === job.job_id)
        .then((end) => {
          if (end.type !== "HubEndRun") return;
          const { status, error, stage } = end;
          worker.finish(job, { status, error, stage: stage ?? "done" });
        });
    }
  })();
  return worker;
}
