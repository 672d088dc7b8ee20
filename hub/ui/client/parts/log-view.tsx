import { Box, Button, Text } from "@mantine/core";
import { useVirtualizer } from "@tanstack/react-virtual";
import { type ReactNode, useEffect, useRef, useState } from "react";

interface LogViewProps<T> {
  label: string;
  lines: readonly T[];
  lineKey: (line: T, index: number) => string | number;
  children: (line: T) => ReactNode;
  height?: number | string;
  /** Stays at the end while new lines come, until somebody scrolls up. */
  follow?: boolean;
}

const LINE_PX = 22;
const AT_END_PX = 30;

/** Lines of a log, any number of them: only those in view are drawn. */
export function LogView<T>({
  label,
  lines,
  lineKey,
  children,
  height = 420,
  follow = false,
}: LogViewProps<T>) {
  const scroller = useRef<HTMLDivElement>(null);
  const [atEnd, setAtEnd] = useState(true);
  const virtualizer = useVirtualizer({
    count: lines.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => LINE_PX,
    overscan: 20,
    getItemKey: (index) => lineKey(lines[index] as T, index),
  });
  useEffect(() => {
    if (follow && atEnd && lines.length > 0)
      virtualizer.scrollToIndex(lines.length - 1, { align: "end" });
  }, [follow, atEnd, lines.length, virtualizer]);
  const onScroll = () => {
    const box = scroller.current;
    if (box) setAtEnd(box.scrollHeight - box.scrollTop - box.clientHeight < AT_END_PX);
  };
  return (
    <Box pos="relative">
      <Box
        ref={scroller}
        className="log-view"
        role="log"
        aria-label={label}
        aria-live="off"
        tabIndex={0}
        style={{ maxHeight: height }}
        onScroll={onScroll}
      >
        {lines.length === 0 && (
          <Text size="sm" c="dimmed" p="sm">
            No lines
          </Text>
        )}
        <div style={{ height: virtualizer.getTotalSize(), position: "relative" }}>
          {virtualizer.getVirtualItems().map((item) => (
            <div
              key={item.key}
              ref={virtualizer.measureElement}
              data-index={item.index}
              className="log-line"
              style={{ transform: `translateY(${item.start}px)` }}
            >
              {children(lines[item.index] as T)}
            </div>
          ))}
        </div>
      </Box>
      {follow && !atEnd && (
        <Button size="compact-xs" className="log-to-end" onClick={() => setAtEnd(true)}>
          To the end
        </Button>
      )}
    </Box>
  );
}
