import { Box, Button, Group, Title } from "@mantine/core";
import type { ReactNode } from "react";
import { Link } from "wouter";
import { timeText } from "../lib/units.ts";
import { Ago } from "./text.tsx";

// What the panels of rows are made of, each beside its list. The frame around them has their title.

interface PanelActionsProps {
  /** Of the row, as its list has it. */
  state?: ReactNode;
  /** The row's own page. */
  href: string;
  /** What leads there: "Open capture". */
  open: string;
  /** A plain button or a menu. */
  children?: ReactNode;
}

/** The state of a row and what can be done with it: above the rest of its panel, where no long text pushes it away. */
export function PanelActions({ state, href, open, children }: PanelActionsProps) {
  return (
    <Group gap="xs" justify="space-between">
      {state}
      <Group gap="xs">
        <Button component={Link} href={href}>
          {open}
        </Button>
        {children}
      </Group>
    </Group>
  );
}

interface PanelPartProps {
  title: string;
  /** At the end of the title's line. */
  side?: ReactNode;
  children: ReactNode;
}

/** A part of a panel under its own title. */
export function PanelPart({ title, side, children }: PanelPartProps) {
  return (
    <Box component="section" aria-label={title}>
      <Group justify="space-between" mb={4}>
        <Title order={3} size="h5">
          {title}
        </Title>
        {side}
      </Group>
      {children}
    </Box>
  );
}

/** A moment in full, and how far it is from now; a dash for none. */
export function Moment({ at }: { at: string | null | undefined }) {
  if (!at) return <>–</>;
  return (
    <>
      {timeText(at)} · <Ago at={at} />
    </>
  );
}
