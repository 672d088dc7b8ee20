import { Button, type ButtonProps, Group, Modal, Stack, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import type { ReactNode } from "react";

export interface Question {
  /** "Delete this job?" */
  question: string;
  /** What follows from it. */
  text?: ReactNode;
  /** Of the button that does it. */
  confirm: string;
}

interface ConfirmDialogProps extends Question {
  opened: boolean;
  onClose: () => void;
  onConfirm: () => void;
}

/** Asks before what cannot be undone. */
export function ConfirmDialog(props: ConfirmDialogProps) {
  const { opened, onClose, question, text, confirm, onConfirm } = props;
  return (
    <Modal opened={opened} onClose={onClose} title={question} centered>
      <Stack>
        {text && (
          <Text size="sm" component="div">
            {text}
          </Text>
        )}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            No, go back
          </Button>
          <Button
            color="red"
            data-autofocus
            onClick={() => {
              onClose();
              onConfirm();
            }}
          >
            {confirm}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}

interface ConfirmButtonProps extends ButtonProps, Omit<Question, "confirm"> {
  /** By default the text of the button that asks. */
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
      <ConfirmDialog
        opened={opened}
        onClose={close}
        question={question}
        text={text}
        confirm={confirm ?? children}
        onConfirm={onConfirm}
      />
    </>
  );
}
