import type { CdpConnection, Protocol } from "../cdp/connection.ts";

type Paused = Protocol.Fetch.RequestPausedEvent;

/** Requests of one kind that the browser holds back until `onPaused` lets them go on, or not. */
export interface Pause {
  type: Protocol.Network.ResourceType;
  /** Before the request is sent, or when the head of its answer is there. */
  stage: Protocol.Fetch.RequestStage;
  onPaused(paused: Paused): void;
}

const stageOf = ({ responseStatusCode, responseErrorReason }: Paused): Pause["stage"] =>
  responseStatusCode === undefined && responseErrorReason === undefined ? "Request" : "Response";

/** Holds requests of all pages and workers back at the browser's root; another `Fetch.enable` there would undo this one. */
export async function holdRequests({ root }: CdpConnection, pauses: Pause[]): Promise<void> {
  if (pauses.length === 0) return;
  root.on("Fetch.requestPaused", (paused) => {
    const stage = stageOf(paused);
    const pause = pauses.find((p) => p.stage === stage && p.type === paused.resourceType);
    if (pause) pause.onPaused(paused);
    else root.post("Fetch.continueRequest", { requestId: paused.requestId });
  });
  const patterns = pauses.map(({ type, stage }) => ({ resourceType: type, requestStage: stage }));
  await root.send("Fetch.enable", { patterns });
}
