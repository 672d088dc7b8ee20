import { describe, expect, test } from "bun:test";
import type { CdpSession } from "#worker/browser/cdp/connection.ts";
import { createRequestTable } from "#worker/browser/record/request-table.ts";
import { watchRequests } from "#worker/browser/record/request-watch.ts";
import type { RequestEntry } from "#worker/browser/record/requests.ts";
import type { Tracked } from "#worker/browser/record/targets.ts";

/** A page's session whose events the test tells. */
function openPage() {
  const listeners = new Map<string, (params: unknown) => void>();
  const session = {
    on: (event: string, run: (params: unknown) => void) => listeners.set(event, run),
    closed: new Promise(() => {}),
  } as unknown as CdpSession;
  const orphans: string[] = [];
  const ended: string[] = [];
  const requests = watchRequests(createRequestTable(), {
    onRequest: () => {},
    onRedirect: () => {},
    onResponse: () => {},
    onData: () => {},
    onFinished: ({ id }: RequestEntry) => ended.push(id),
    onFailed: () => {},
    onOrphan: ({ id }: RequestEntry) => orphans.push(id),
  });
  requests.watch({ session, target_id: "page", type: "page", page: null } as unknown as Tracked);
  const tell = (event: string, params: object) => listeners.get(event)?.(params);
  const begin = (requestId: string, type: string, frameId: string, loaderId: string) => {
    const request = { url: `http://site.test/${requestId}`, method: "GET" };
    tell("Network.requestWillBeSent", { requestId, type, frameId, loaderId, request });
  };
  const answer = (requestId: string, type: string) => {
    const response = { url: `http://site.test/${requestId}`, headers: {}, mimeType: "text/html" };
    tell("Network.responseReceived", { requestId, type, response });
  };
  const end = (requestId: string) =>
    tell("Network.loadingFinished", { requestId, encodedDataLength: 1 });
  return { begin, answer, end, orphans, ended };
}

describe("requests whose document is gone (rules/capture#read-at-the-end)", () => {
  test("a frame that loads while the document around it ends is not one of them", () => {
    const { begin, answer, end, orphans, ended } = openPage();
    begin("top", "Document", "page", "loader-top");
    answer("top", "Document");
    begin("frame", "Document", "child", "loader-child");
    answer("frame", "Document");
    end("top");
    end("frame");
    expect(orphans).toEqual([]);
    expect(ended).toEqual(["top", "frame"]);
  });

  test("what the page before it asked for is, though no navigation was told", () => {
    const { begin, answer, end, orphans } = openPage();
    begin("old", "Document", "page", "loader-old");
    answer("old", "Document");
    end("old");
    begin("old-picture", "Image", "page", "loader-old");
    begin("new", "Document", "page", "loader-new");
    begin("old-beacon", "XHR", "page", "loader-old");
    answer("new", "Document");
    begin("new-picture", "Image", "page", "loader-new");
    end("new");
    expect(orphans).toEqual(["old-picture", "old-beacon"]);
  });

  test("what a document preloads before it is answered is not one of them", () => {
    const { begin, answer, end, orphans } = openPage();
    begin("top", "Document", "page", "loader-top");
    begin("hinted", "Stylesheet", "page", "loader-top");
    answer("top", "Document");
    end("top");
    expect(orphans).toEqual([]);
  });
});
