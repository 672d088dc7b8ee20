import type { Protocol } from "devtools-protocol";

/** Which tabs of a browser somebody asked for: a client of the browser, the worker itself, or the person in the viewer. */
export interface AskedTabs {
  /** A `Target.createTarget` is on its way to the browser, by whatever connection. */
  expect(): void;
  /** Decided when the tab is first seen, and kept until `forget`. */
  isAsked(tab: Pick<Protocol.Target.TargetInfo, "targetId" | "openerId" | "url">): boolean;
  forget(target_id: string): void;
}

/** What Ctrl+T shows first. Chromium sends a page that asks for it to the blank page, and opens no window for it. */
const NEW_TAB = /^chrome:\/\/(newtab|new-tab-page)\b/;

/**
 * A window that a page opens has an opener, also with `noopener`; but a click with Ctrl that a script makes up opens a tab
 * without one, as a command does (measured with 156). So a tab without an opener counts as asked for once for each command.
 */
export function createAskedTabs(): AskedTabs {
  const verdicts = new Map<string, boolean>();
  /** The page that the browser starts with. */
  let expected = 1;

  const judge = (tab: Pick<Protocol.Target.TargetInfo, "openerId" | "url">): boolean => {
    if (NEW_TAB.test(tab.url)) return true;
    if (tab.openerId !== undefined || expected === 0) return false;
    expected -= 1;
    return true;
  };
  return {
    expect: () => {
      expected += 1;
    },
    isAsked: (tab) => {
      const known = verdicts.get(tab.targetId);
      if (known !== undefined) return known;
      const verdict = judge(tab);
      verdicts.set(tab.targetId, verdict);
      return verdict;
    },
    forget: (target_id) => void verdicts.delete(target_id),
  };
}
