import type { Protocol } from "../cdp/connection.ts";
import { type Blindness, watchBlindness } from "./blindness.ts";
import type { DownloadDeps } from "./downloads.ts";
import type { RequestEntry } from "./requests.ts";
import type { Tracked } from "./targets.ts";

export interface DocumentEvents {
  /** A document is requested, or a hop of its redirects is. */
  onDocumentRequest(url: string): void;
  /** A document of a page's main frame was answered. */
  onDocument(target: Tracked, response: Protocol.Network.Response): void;
}

/** What is known of the job's documents, which pages and frames show. */
export interface Documents {
  /** Resolves when a page's document is requested for the first time since the start. */
  readonly asked: Promise<void>;
  requested(entry: RequestEntry): void;
  answered(entry: RequestEntry, response: Protocol.Network.Response): void;
  /** The end of a document was reported. */
  ended(entry: RequestEntry): void;
  /** What the network reported about this URL, in case a download began as a document. */
  describe: DownloadDeps["describe"];
  tellBlindness: Blindness["tell"];
}

/** @param pageUrl the page that is open, for anything that no request shows */
export function createDocuments(events: DocumentEvents, pageUrl: () => string): Documents {
  const described = new Map<string, ReturnType<Documents["describe"]>>();
  const blindness = watchBlindness();
  const asked = Promise.withResolvers<void>();
  return {
    asked: asked.promise,
    requested: ({ url, is_main_document }) => {
      events.onDocumentRequest(url);
      if (is_main_document) asked.resolve();
    },
    answered: (entry, response) => {
      const { page_url, frame_url } = entry;
      const { url, mimeType: mime, status } = response;
      described.set(url, { mime, status, page_url, frame_url });
      if (!entry.is_main_document) return;
      blindness.answered(entry);
      events.onDocument(entry.target, response);
    },
    ended: (entry) => {
      if (entry.is_main_document) blindness.ended(entry);
    },
    describe: (url) =>
      described.get(url) ?? { mime: "", status: null, page_url: pageUrl(), frame_url: null },
    tellBlindness: blindness.tell,
  };
}
