/** An editor for JSON with colours, folding and marked errors. It loads when the first JSON value is edited. */
import { closeBrackets, closeBracketsKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { json, jsonParseLinter } from "@codemirror/lang-json";
import {
  bracketMatching,
  foldGutter,
  foldKeymap,
  HighlightStyle,
  indentOnInput,
  syntaxHighlighting,
} from "@codemirror/language";
import { linter } from "@codemirror/lint";
import { Compartment, EditorState, type Extension } from "@codemirror/state";
import { EditorView, keymap } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { type ReactNode, useEffect, useRef } from "react";
import { nonce } from "../config.ts";

export interface JsonEditorProps {
  readonly text: string;
  readonly onChange: (text: string) => void;
  readonly onBlur: () => void;
  readonly disabled: boolean;
  /** Of the element that is edited: its id, name and description. */
  readonly attributes: Readonly<Record<string, string>>;
}

const colours = HighlightStyle.define([
  { tag: tags.propertyName, color: "var(--accent-text)" },
  { tag: tags.string, color: "var(--good-text)" },
  { tag: tags.number, color: "var(--warn-text)" },
  { tag: [tags.bool, tags.null], color: "var(--bad-text)" },
]);

/** Tab is not bound, so that it leaves the editor. */
const FIXED: Extension = [
  json(),
  linter(jsonParseLinter()),
  syntaxHighlighting(colours),
  bracketMatching(),
  closeBrackets(),
  indentOnInput(),
  history(),
  foldGutter(),
  EditorView.lineWrapping,
  keymap.of([...closeBracketsKeymap, ...defaultKeymap, ...historyKeymap, ...foldKeymap]),
  // The policy allows the editor's style element only with the nonce.
  nonce === undefined ? [] : EditorView.cspNonce.of(nonce),
];

export function JsonEditor({ text, onChange, onBlur, disabled, attributes }: JsonEditorProps): ReactNode {
  const place = useRef<HTMLDivElement>(null);
  const editor = useRef<{ view: EditorView; changing: Compartment }>(undefined);
  const listeners = useRef({ onChange, onBlur });
  listeners.current = { onChange, onBlur };
  const first = useRef(text);
  const changeable = JSON.stringify([disabled, attributes]);

  useEffect(() => {
    if (place.current === null) return;
    const changing = new Compartment();
    const view = new EditorView({
      parent: place.current,
      doc: first.current,
      extensions: [
        FIXED,
        changing.of([]),
        EditorView.updateListener.of(({ docChanged, state, transactions }) => {
          const isOwn = transactions.some((one) => one.isUserEvent("input") || one.isUserEvent("delete"));
          const isOther = transactions.some((one) => one.isUserEvent("undo") || one.isUserEvent("redo"));
          if (docChanged && (isOwn || isOther)) listeners.current.onChange(state.doc.toString());
        }),
        EditorView.domEventHandlers({ blur: () => listeners.current.onBlur() }),
      ],
    });
    editor.current = { view, changing };
    return () => {
      editor.current = undefined;
      view.destroy();
    };
  }, []);

  useEffect(() => {
    const [isDisabled, own]: [boolean, Record<string, string>] = JSON.parse(changeable);
    const { view, changing } = editor.current ?? {};
    if (view === undefined || changing === undefined) return;
    view.dispatch({
      effects: changing.reconfigure([
        EditorState.readOnly.of(isDisabled),
        EditorView.contentAttributes.of({
          ...own,
          "aria-multiline": "true",
          ...(isDisabled && { "aria-readonly": "true" }),
        }),
      ]),
    });
  }, [changeable]);

  useEffect(() => {
    const view = editor.current?.view;
    if (view === undefined || view.state.doc.toString() === text) return;
    view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } });
  }, [text]);

  return <div ref={place} className="json-editor" />;
}
