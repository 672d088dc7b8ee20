import type { CdpConnection, Protocol } from "../cdp/connection.ts";
import { goingOn } from "../cdp/late-headers.ts";
import { answerLogins, type Logins } from "./logins.ts";

type Paused = Protocol.Fetch.RequestPausedEvent;

/** Requests of one kind that the browser holds back. */
export interface Pause {
  /** `every`: of every kind. `any`: of every kind, while `holdAll` is on. */
  type: Protocol.Network.ResourceType | "every" | "any";
  /** Before the request is sent, or when the headers of its answer have arrived. */
  stage: Protocol.Fetch.RequestStage;
  /**
   * Whether this one takes the request and must release it; otherwise the next in the list is asked, and if none
   * takes it, it continues.
   */
  takes(paused: Paused): boolean;
}

export interface Pauses {
  /** Whether requests of every kind are held before they are sent. Requests that were held stay held. */
  holdAll(on: boolean): void;
}

const stageOf = ({ responseStatusCode, responseErrorReason }: Paused): Pause["stage"] =>
  responseStatusCode === undefined && responseErrorReason === undefined ? "Request" : "Response";

/** Holds requests of all pages and workers at the browser's root; another `Fetch.enable` there would undo this one. */
export async function holdRequests(
  { root }: CdpConnection,
  pauses: Pause[],
  logins: Logins,
): Promise<Pauses> {
  answerLogins(root, logins);
  root.on("Fetch.requestPaused", (paused) => {
    const stage = stageOf(paused);
    const mine = ({ type, ...p }: Pause) =>
      p.stage === stage &&
      (type === "any" || type === "every" || type === paused.resourceType) &&
      p.takes(paused);
    if (pauses.some(mine)) return;
    const { requestId } = paused;
    root.post("Fetch.continueRequest", stage === "Request" ? goingOn(root, paused) : { requestId });
  });
  const usual = pauses.flatMap(({ type, stage }): Protocol.Fetch.RequestPattern[] => {
    if (type === "any") return [];
    return type === "every"
      ? [{ urlPattern: "*", requestStage: stage }]
      : [{ resourceType: type, requestStage: stage }];
  });
  const every = { urlPattern: "*", requestStage: "Request" as const };
  // Chromium says that a server asks for a login only of requests that were held (measured with Chromium 156).
  if (logins.own !== null) usual.push(every);
  const handleAuthRequests = logins.refuses || logins.own !== null;
  await root.send("Fetch.enable", { patterns: usual, handleAuthRequests });
  return {
    holdAll: (on) => {
      const patterns = on ? [...usual, every] : usual;
      root.post("Fetch.enable", { patterns, handleAuthRequests });
    },
  };
}
