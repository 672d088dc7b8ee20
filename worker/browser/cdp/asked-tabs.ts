import type { Protocol } from "devtools-protocol";

/** Which tabs of a browser somebody asked for: a client of the browser, the worker itself, or the person in the viewer. */
export interface AskedTabs {
  /** A `Target.createTarget` is on its way to the browser, over any connection. */
  expect(): void;
  /** Decided when the tab is first seen, and kept until `forget`. */
  isAsked(tab: Pick<Protocol.Target.TargetInfo, "targetId" | "openerId" | "url">): boolean;
  forget(target_id: string): void;
}

/** What Ctrl+T shows first. A page that requests it is sent to the blank page and gets no window. */
const NEW_TAB = /^chrome:\/\/(newtab|new-tab-page)\b/;

/**
 * A window that a page opens has an opener, even with `noopener`; but a Ctrl+click that a script synthesizes opens a
 * tab without one, as a command does (measured with 156). So each command accounts for one tab without an opener.
 */
export function createAskedTabs(): AskedTabs {
  const verdicts = new Map<string, boolean>();
  /** This is the page that the browser starts with. */
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
