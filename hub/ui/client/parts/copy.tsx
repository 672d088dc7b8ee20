import { ActionIcon, Box, Code, Tooltip } from "@mantine/core";
import { useTimeout } from "@mantine/hooks";
import { notifications } from "@mantine/notifications";
import { type Icon, IconCheck, IconCopy } from "@tabler/icons-react";
import { useState } from "react";
import { copyText } from "../lib/clipboard.ts";

interface CopyProps {
  text: string;
  label?: string;
  icon?: Icon;
  /** "default" stands out as a separate button. */
  variant?: "subtle" | "default";
}

const COPIED_MS = 1_500;

/** What could not be copied is shown in full, because the page shows only part of it. */
export function showUncopied(text: string): void {
  notifications.show({
    color: "yellow",
    title: "The browser does not let this page copy: select the text here",
    message: (
      <Code block className="command" mah="40dvh" style={{ overflow: "auto" }} tabIndex={0}>
        {text}
      </Code>
    ),
    autoClose: false,
  });
}

export function Copy({ text, label = "Copy", icon: What = IconCopy, variant }: CopyProps) {
  const [copied, setCopied] = useState(false);
  const { start, clear } = useTimeout(() => setCopied(false), COPIED_MS);
  const copy = async () => {
    const done = await copyText(text);
    setCopied(done);
    clear();
    if (done) start();
    else showUncopied(text);
  };
  return (
    <Tooltip label={copied ? "Copied" : label}>
      <ActionIcon
        variant={variant ?? "subtle"}
        color={copied ? "teal" : "gray"}
        aria-label={label}
        onClick={() => void copy()}
      >
        {copied ? <IconCheck size={16} /> : <What size={16} />}
      </ActionIcon>
    </Tooltip>
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
