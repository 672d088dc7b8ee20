import {
  type Icon,
  IconArrowRight,
  IconClock,
  IconCursorText,
  IconKeyboard,
  IconListCheck,
  IconMessage2,
  IconPointer,
  IconPointFilled,
  IconX,
} from "@tabler/icons-react";
import type { ActKind } from "./model/act-words.ts";
import type { Act } from "./model/happenings.ts";

const ICONS: Record<ActKind, Icon> = {
  point: IconPointer,
  type: IconCursorText,
  key: IconKeyboard,
  go: IconArrowRight,
  wait: IconClock,
  choose: IconListCheck,
  say: IconMessage2,
  other: IconPointFilled,
};

export function ActIcon({ act, size = 14 }: { act: Act; size?: number }) {
  const Shown = act.failed ? IconX : ICONS[act.kind];
  return <Shown size={size} stroke={1.75} aria-hidden />;
}
