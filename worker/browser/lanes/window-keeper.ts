import { withDeadline } from "#shared/kit/clock.ts";
import { openScreen, type Place, type ScreenEvent, type Size } from "./x11.ts";

/** Keeps the browser's windows on a lane's screen, as a window manager would. */
export interface WindowKeeper {
  /** The current size of the screen. */
  size(): Size;
  /** Resolves when the screen has this size. @throws DeadlineError after `ms`. */
  whenSized(size: Size, ms: number): Promise<void>;
  /** Resolves when there is a window and it fills the screen. @throws DeadlineError after `ms`. */
  whenFilled(ms: number): Promise<void>;
  close(): void;
}

interface Window {
  place: Place;
  /** True for menus and tooltips, which place themselves. */
  own: boolean;
  mapped: boolean;
  fills: boolean;
}

/**
 * Chromium makes a window as large as the screen one pixel smaller, so that no window manager takes it for a
 * full-screen window.
 */
const SHY = 1;

const same = (a: Size, b: Size): boolean => a.width === b.width && a.height === b.height;

/**
 * Where a window belongs on a screen of that size: one that fills the screen goes on filling it, and none leaves it.
 */
export function placeOn(screen: Size, { place, fills }: Pick<Window, "place" | "fills">): Place {
  const covers = place.width >= screen.width - SHY && place.height >= screen.height - SHY;
  if (fills || covers) return { x: 0, y: 0, ...screen };
  const width = Math.min(place.width, screen.width);
  const height = Math.min(place.height, screen.height);
  const within = (at: number, most: number) => Math.max(0, Math.min(at, most));
  return {
    x: within(place.x, screen.width - width),
    y: within(place.y, screen.height - height),
    width,
    height,
  };
}

/**
 * Watches the screen of X server `number` until it goes: windows that fill it go on filling it when a viewer changes its
 * size, the others stay on it.
 * @throws when the server does not answer within `ms`.
 */
export async function keepWindows(
  number: number,
  cookie: Uint8Array,
  ms: number,
): Promise<WindowKeeper> {
  const windows = new Map<number, Window>();
  const waiting = new Set<() => void>();
  const early: ScreenEvent[] = [];
  let listen = (event: ScreenEvent): void => void early.push(event);
  const x = await openScreen(number, cookie, ms, (event) => listen(event));
  let screen: Size = x.size;

  const keep = (id: number, window: Window) => {
    if (window.own || !window.mapped) return;
    const wanted = placeOn(screen, window);
    const { place } = window;
    window.fills = same(wanted, screen);
    if (!same(wanted, place) || wanted.x !== place.x || wanted.y !== place.y) x.place(id, wanted);
  };
  const onScreenSized = ({ width, height }: Place) => {
    if (same(screen, { width, height })) return;
    screen = { width, height };
    for (const [id, window] of windows) keep(id, window);
  };
  const onPlaced = (id: number, place: Place) => {
    const window = windows.get(id);
    if (!window) return;
    window.place = place;
    // A window that was made smaller stays smaller: that was deliberate.
    window.fills = same(place, screen);
    keep(id, window);
  };
  listen = (event) => {
    const { window: id } = event;
    if (event.type === "placed" && id === x.root) onScreenSized(event.place);
    else if (event.type === "placed") onPlaced(id, event.place);
    else if (event.type === "created")
      windows.set(id, { place: event.place, own: event.own, mapped: false, fills: false });
    else if (event.type === "destroyed") windows.delete(id);
    else {
      const window = windows.get(id);
      if (!window) return;
      window.mapped = event.type === "mapped";
      if (event.type === "mapped") window.own = event.own;
      keep(id, window);
    }
    for (const look of [...waiting]) look();
  };
  for (const event of early.splice(0)) listen(event);

  // Without the connection nothing more is reported, so nothing that anyone waits for will come.
  void x.closed.then(() => {
    windows.clear();
    screen = { width: 0, height: 0 };
  });

  const until = async (what: string, ms: number, holds: () => boolean): Promise<void> => {
    const there = Promise.withResolvers<void>();
    const look = () => {
      if (holds()) there.resolve();
    };
    waiting.add(look);
    look();
    await withDeadline(what, ms, there.promise).finally(() => waiting.delete(look));
  };
  const filled = () =>
    [...windows.values()].some((w) => w.mapped && !w.own && same(w.place, screen));
  return {
    size: () => screen,
    whenSized: (size, ms) => until("a new size of the screen", ms, () => same(screen, size)),
    whenFilled: (ms) => until("a window that fills the screen", ms, filled),
    close: x.close,
  };
}
