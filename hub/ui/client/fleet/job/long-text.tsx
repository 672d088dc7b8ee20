import { Box, Code, Text } from "@mantine/core";
import { Copy } from "../../parts/copy.tsx";

/** A script, a prompt or a stream, unchanged, in a box that scrolls. */
export function LongText({ text, none }: { text: string | null; none: string }) {
  if (!text)
    return (
      <Text size="sm" c="dimmed">
        {none}
      </Text>
    );
  return (
    <Box pos="relative">
      <Code block className="job-text" tabIndex={0}>
        {text}
      </Code>
      <Box pos="absolute" top={4} right={16}>
        <Copy text={text} />
      </Box>
    </Box>
  );
}
