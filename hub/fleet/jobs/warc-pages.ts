import { z } from "zod";
import { HarEntry } from "#shared/protocol/schema/har.ts";
import type { ArchivedPage } from "../archive/wacz-parts.ts";

const HarPage = z.looseObject({ id: z.string(), title: z.string() });
const Paged = z.looseObject({ pageref: z.string().optional() });

/** Collects the pages of a HAR. The first entry of a page is its document, or the first hop to it. */
export function createPages() {
  const titles = new Map<string, string>();
  const pages = new Map<string, ArchivedPage>();
  return {
    add: (list: string, value: unknown): void => {
      if (list === "pages") {
        const page = HarPage.parse(value);
        titles.set(page.id, page.title);
      }
      if (list !== "entries") return;
      const { pageref = "" } = Paged.parse(value);
      const title = titles.get(pageref);
      if (title === undefined || pages.has(pageref)) return;
      const { startedDateTime, request } = HarEntry.parse(value);
      if (/^https?:/.test(request.url))
        pages.set(pageref, { url: request.url, ts: startedDateTime, title });
    },
    /** The job's own page first; `otherwise` where the HAR names none. */
    list: (otherwise: ArchivedPage): [ArchivedPage, ...ArchivedPage[]] => {
      const [main = otherwise, ...others] = pages.values();
      return [main, ...others];
    },
  };
}
