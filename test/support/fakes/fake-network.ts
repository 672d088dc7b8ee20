import type { CdpSession } from "#worker/browser/cdp/connection.ts";

/** What Chromium reports of requests, as a test makes it up. */
export function fakeNetwork(session: CdpSession) {
  const emit = (event: string, params: object) => session.emit(`Network.${event}`, params);
  return {
    emit,
    send: (requestId: string, more: object = {}, headers: Record<string, string> = {}) =>
      emit("requestWillBeSent", {
        requestId,
        request: { url: `http://site.test/${requestId}`, method: "GET", headers },
        timestamp: 1,
        wallTime: 1_700_000_000,
        documentURL: "http://site.test/",
        initiator: { type: "other" },
        ...more,
      }),
    respond: (requestId: string, response: object = {}, hasExtraInfo = false) =>
      emit("responseReceived", {
        requestId,
        type: "Fetch",
        hasExtraInfo,
        response: {
          status: 200,
          statusText: "OK",
          headers: {},
          mimeType: "text/plain",
          connectionId: 0,
          encodedDataLength: 50,
          ...response,
        },
      }),
    finish: (requestId: string, encodedDataLength = 60) =>
      emit("loadingFinished", { requestId, timestamp: 2, encodedDataLength }),
  };
}
