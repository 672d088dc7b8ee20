import { javascript } from "@codemirror/lang-javascript";
import { python } from "@codemirror/lang-python";
import { indentUnit, syntaxHighlighting } from "@codemirror/language";
import { Compartment, EditorState } from "@codemirror/state";
import { EditorView, keymap } from "@codemirror/view";
import { classHighlighter } from "@lezer/highlight";
import { basicSetup } from "codemirror";
import { styleNonce } from "../../../lib/info.ts";

/** CodeMirror, which is loaded when somebody looks at code. */

export type Language = "python_module" | "bun_module";

export interface EditorOptions {
  text: string;
  language: Language;
  /** What readers of screens call it. */
  label: string;
  readOnly?: boolean;
  onChange?: (text: string) => void;
  /** Ctrl Enter: tests the code. */
  onRun?: (() => void) | undefined;
}

export interface Editor {
  /** Shows other text, unless it is what is there. */
  setText(text: string): void;
  setLanguage(language: Language): void;
  close(): void;
}

const LANGUAGES = {
  python_module: () => [python(), indentUnit.of("    ")],
  bun_module: () => [javascript({ typescript: true }), indentUnit.of("  ")],
};

/** In the colours of the app, light and dark. */
const theme = EditorView.theme({
  "&": {
    fontSize: "13px",
    border: "1px solid var(--mantine-color-default-border)",
    borderRadius: "6px",
    backgroundColor: "var(--mantine-color-body)",
    color: "var(--mantine-color-text)",
  },
  "&.cm-focused": { outline: "2px solid var(--mantine-primary-color-filled)" },
  ".cm-scroller": { fontFamily: "var(--mono)", minHeight: "12rem", maxHeight: "60dvh" },
  ".cm-content": { caretColor: "var(--mantine-color-text)" },
  ".cm-gutters": {
    backgroundColor: "transparent",
    color: "var(--mantine-color-dimmed)",
    border: "none",
  },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--mantine-color-default-hover)" },
  "&.cm-focused .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "var(--mantine-primary-color-light-hover)",
  },
});

/**
 * Typing over a selection, by CodeMirror alone: the browser would keep the look of what it replaces in an inline style,
 * which the policy of the app refuses and reports as an error.
 */
const typeOver = EditorView.domEventHandlers({
  beforeinput: (event, view) => {
    const { from, to, empty } = view.state.selection.main;
    const { inputType, isComposing, data } = event;
    if (empty || isComposing || view.state.readOnly || inputType !== "insertText" || data === null)
      return false;
    event.preventDefault();
    const typed = () =>
      view.state.update(view.state.replaceSelection(data), { userEvent: "input.type" });
    const handlers = view.state.facet(EditorView.inputHandler);
    if (!handlers.some((handle) => handle(view, from, to, data, typed))) view.dispatch(typed());
    return true;
  },
});

/** Tab moves on, as it does in every field; Ctrl M lets it indent, as CodeMirror has it. */
export function mountEditor(parent: HTMLElement, options: EditorOptions): Editor {
  const { label, readOnly = false, onChange, onRun } = options;
  const language = new Compartment();
  const runNow = () => {
    onRun?.();
    return onRun !== undefined;
  };
  const run = keymap.of([{ key: "Mod-Enter", run: runNow }]);
  const view = new EditorView({
    parent,
    state: EditorState.create({
      doc: options.text,
      extensions: [
        // The policy of the app lets in no style without it.
        EditorView.cspNonce.of(styleNonce()),
        run,
        typeOver,
        basicSetup,
        syntaxHighlighting(classHighlighter),
        language.of(LANGUAGES[options.language]()),
        theme,
        EditorView.contentAttributes.of({
          "aria-label": label,
          spellcheck: "false",
          tabindex: "0",
        }),
        EditorState.readOnly.of(readOnly),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) onChange?.(update.state.doc.toString());
        }),
      ],
    }),
  });
  return {
    setText: (text) => {
      const { doc } = view.state;
      if (doc.toString() !== text)
        view.dispatch({ changes: { from: 0, to: doc.length, insert: text } });
    },
    setLanguage: (to) => view.dispatch({ effects: language.reconfigure(LANGUAGES[to]()) }),
    close: () => view.destroy(),
  };
}
