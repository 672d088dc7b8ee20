import { Button, type ButtonProps, Group, Modal, Stack, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import type { ReactNode } from "react";

interface ConfirmButtonProps extends ButtonProps {
  /** "Delete this job?" */
  question: string;
  /** What follows from it. */
  text?: ReactNode;
  /** Of the button that does it; by default that of the button that asks. */
  confirm?: string;
  onConfirm: () => void;
  children: string;
}

/** A button that asks first, for what cannot be undone. */
export function ConfirmButton({
  question,
  text,
  confirm,
  onConfirm,
  children,
  ...button
}: ConfirmButtonProps) {
  const [opened, { open, close }] = useDisclosure(false);
  return (
    <>
      <Button variant="default" {...button} onClick={open}>
        {children}
      </Button>
      <Modal opened={opened} onClose={close} title={question} centered>
        <Stack>
          {text && (
            <Text size="sm" component="div">
              {text}
            </Text>
          )}
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
              No, go back
            </Button>
            <Button
              color="red"
              data-autofocus
              onClick={() => {
                close();
                onConfirm();
              }}
            >
              {confirm ?? children}
            </Button>
          </Group>
        </Stack>
      </Modal>
    </>
  );
}
