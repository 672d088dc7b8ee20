import { CloseButton } from "@mantine/core";
import { useHotkeys } from "@mantine/hooks";
import { type CSSProperties, type ReactNode, useEffect, useRef } from "react";
import { RoomTaken, SIDE_BAR_PX } from "./beside/room-taken.ts";
import { useBesideRoom } from "./beside/use-beside-room.ts";
import { Divider } from "./panels/divider.tsx";
import { useSizes } from "./panels/sizes.ts";
import { SidePanel } from "./side-panel.tsx";

interface BesideProps {
  /** Under which the width of the detail is kept: the page's name. */
  name: string;
  /** The list. */
  children: ReactNode;
  /** What is chosen of it; nothing while nothing is. */
  detail: ReactNode;
  /** Its name: the heading of the detail. */
  title: string;
  /** After the heading. */
  badge?: ReactNode;
  /** How wide the detail is until somebody drags it, in pixels. */
  usual?: number;
  /** Left out where one of the list is always shown: it then cannot be closed. */
  onClose?: (() => void) | undefined;
}

/**
 * A list and beside it what is chosen of it (rules/web-app#beside-a-list). The list scrolls with the page and the detail
 * stays in view. Where there is no room the detail is a drawer over the list.
 */
export function Beside(props: BesideProps) {
  const { name, children, detail, title, badge, usual = 420, onClose } = props;
  const roomy = useBesideRoom();
  const { sizes, resize, reset } = useSizes(name, { right: usual });
  const list = useRef<HTMLDivElement>(null);
  const opened = Boolean(detail);
  const beside = opened && roomy;
  const close = () => {
    // Where the keyboard goes on from.
    list.current?.querySelector<HTMLElement>("[role=row][aria-current]")?.focus({
      preventScroll: true,
    });
    onClose?.();
  };
  const onEscape = () => {
    // What lies over the page takes the key for itself.
    if (beside && onClose && !document.querySelector("[role=dialog]")) close();
  };
  useHotkeys([["Escape", onEscape]]);
  return (
    <div
      className="beside"
      data-open={beside || undefined}
      style={{ "--right": `${sizes.right}px` } as CSSProperties}
    >
      <div className="beside-list" ref={list}>
        <RoomTaken value={beside ? sizes.right + SIDE_BAR_PX : 0}>{children}</RoomTaken>
      </div>
      {beside && (
        <>
          <Divider
            side="right"
            label={`Width of ${title}`}
            size={sizes.right}
            onResize={(px) => resize("right", px)}
            onReset={() => reset("right")}
          />
          <Detail title={title} badge={badge} width={sizes.right} onClose={onClose && close}>
            {detail}
          </Detail>
        </>
      )}
      {!roomy && (
        <SidePanel
          title={title}
          badge={badge}
          opened={opened}
          onClose={() => onClose?.()}
          size={640}
        >
          {detail}
        </SidePanel>
      )}
    </div>
  );
}

interface DetailProps {
  title: string;
  badge: ReactNode;
  width: number;
  onClose: (() => void) | undefined;
  children: ReactNode;
}

function Detail({ title, badge, width, onClose, children }: DetailProps) {
  const panel = useRef<HTMLElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another title is another detail
  useEffect(() => {
    const whole = panel.current;
    if (!whole || whole.contains(document.activeElement)) return;
    const first = whole.querySelector<HTMLElement>("[data-autofocus]");
    // The keyboard goes where it opened something; who clicked on a row may go on in the list with the arrows.
    const by_key = document.querySelector("[role=row]:focus-visible") !== null;
    (first ?? (by_key ? whole : null))?.focus({ preventScroll: true });
  }, [title]);
  return (
    <section className="beside-detail" aria-label={title} ref={panel} tabIndex={-1}>
      <div className="beside-head">
        <h2>{title}</h2>
        {badge}
        {onClose && <CloseButton aria-label="Close" onClick={onClose} ml="auto" />}
      </div>
      <RoomTaken value={window.innerWidth - width}>{children}</RoomTaken>
    </section>
  );
}
