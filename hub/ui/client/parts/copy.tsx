import { ActionIcon, Box, Code, CopyButton, Tooltip } from "@mantine/core";
import { IconCheck, IconCopy } from "@tabler/icons-react";

export function Copy({ text, label = "Copy" }: { text: string; label?: string }) {
  return (
    <CopyButton value={text} timeout={1_500}>
      {({ copied, copy }) => (
        <Tooltip label={copied ? "Copied" : label}>
          <ActionIcon
            variant="subtle"
            color={copied ? "teal" : "gray"}
            aria-label={label}
            onClick={copy}
          >
            {copied ? <IconCheck size={16} /> : <IconCopy size={16} />}
          </ActionIcon>
        </Tooltip>
      )}
    </CopyButton>
  );
}

/** A command of a shell, ready to be copied. */
export function Command({ text }: { text: string }) {
  return (
    <Box pos="relative">
      <Code block className="command" tabIndex={0}>
        {text}
      </Code>
      <Box pos="absolute" top={4} right={4}>
        <Copy text={text} label="Copy the command" />
      </Box>
    </Box>
  );
}
