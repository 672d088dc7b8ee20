import { Textarea } from "@mantine/core";
import { useEffect, useRef, useState } from "react";
import type { Editor, EditorOptions } from "./mount-editor.ts";

interface CodeEditorProps extends Omit<EditorOptions, "text"> {
  value: string;
  error?: string | undefined;
}

/**
 * Code in an editor, which is loaded when it is first shown. Where it cannot be loaded, a plain field takes its place:
 * nobody loses what they typed to a missing file.
 */
export function CodeEditor({ value, onChange, onRun, error, ...options }: CodeEditorProps) {
  const place = useRef<HTMLDivElement>(null);
  const editor = useRef<Editor | null>(null);
  const [plain, setPlain] = useState(false);
  const newest = useRef({ value, onChange, onRun });
  newest.current = { value, onChange, onRun };
  const { language, label, readOnly = false } = options;
  const first = useRef({ language, label, readOnly });
  useEffect(() => {
    let gone = false;
    import("./mount-editor.ts").then(
      ({ mountEditor }) => {
        if (gone || !place.current) return;
        editor.current = mountEditor(place.current, {
          ...first.current,
          text: newest.current.value,
          onChange: (text) => newest.current.onChange?.(text),
          onRun: () => newest.current.onRun?.(),
        });
      },
      () => setPlain(true),
    );
    return () => {
      gone = true;
      editor.current?.close();
      editor.current = null;
    };
  }, []);
  useEffect(() => editor.current?.setText(value), [value]);
  useEffect(() => editor.current?.setLanguage(language), [language]);
  if (plain)
    return (
      <Textarea
        aria-label={label}
        value={value}
        readOnly={readOnly}
        autosize
        minRows={10}
        maxRows={30}
        spellCheck={false}
        error={error}
        styles={{ input: { fontFamily: "var(--mono)" } }}
        onChange={(event) => onChange?.(event.currentTarget.value)}
      />
    );
  return (
    <div>
      <div ref={place} className="code-editor" />
      {error !== undefined && (
        <div className="code-error" role="alert">
          {error}
        </div>
      )}
    </div>
  );
}
