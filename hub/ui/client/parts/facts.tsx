import { Box, Text } from "@mantine/core";
import type { ReactNode } from "react";
import { Copy } from "./copy.tsx";

/** Names and values of one record, below each other. */
export function FactList({ label, children }: { label: string; children: ReactNode }) {
  return (
    <Box component="dl" className="facts" aria-label={label}>
      {children}
    </Box>
  );
}

interface FactProps {
  name: string;
  /** Text that a button beside the value copies. */
  copy?: string;
  children: ReactNode;
}

export function Fact({ name, copy, children }: FactProps) {
  return (
    <>
      <Text component="dt" size="sm" c="dimmed">
        {name}
      </Text>
      <Text component="dd" size="sm" className="wrap">
        {children}
        {copy !== undefined && (
          <Box component="span" className="fact-copy">
            <Copy text={copy} label={`Copy: ${name}`} />
          </Box>
        )}
      </Text>
    </>
  );
}
