import History from "icon:history";
import Play from "icon:play";
import { useId, useState } from "react";
import { useTranslation } from "react-i18next";
import { startGraphRun, type FullAssistant } from "../../api/graphs.ts";
import { createThread, queryClient } from "../../api/threads.ts";
import { SchemaForm } from "../../form/schema-form.tsx";
import { visible } from "../../markdown/links.ts";
import { Button } from "../../parts/button.tsx";
import { Disclosure } from "../../parts/disclosure.tsx";
import { Menu } from "../../parts/menu.tsx";
import { notifyError } from "../../parts/toast.tsx";
import { work } from "../../text/inspector/work.ts";
import { earlierInputs, keepInput } from "./inputs.ts";
import { interruptsOf, StopChoice, type Stops } from "./stops.tsx";

/** The input of a run, by the graph's own schema, and how it is started. */
export function StartPanel({
  assistant,
  schemas,
  nodes,
  thread,
  stops,
  onStops,
  context,
  onContext,
  onThread,
}: {
  assistant: FullAssistant;
  schemas: { input_schema?: unknown; context_schema?: unknown } | undefined;
  nodes: readonly string[];
  thread: string | undefined;
  stops: Stops;
  onStops: (stops: Stops) => void;
  context: unknown;
  onContext: (context: unknown) => void;
  onThread: (thread: string | undefined) => void;
}) {
  const { t } = useTranslation(work);
  const form = useId();
  const contextForm = useId();
  const { graph_id: graph, assistant_id } = assistant;
  const [input, setInput] = useState<unknown>();
  // A form that is filled from outside begins anew.
  const [filled, setFilled] = useState(0);
  const [staysInThread, setStays] = useState(thread !== undefined);
  const [isStarting, setStarting] = useState(false);
  const hasContext = schemas?.context_schema !== undefined && schemas.context_schema !== null;
  const start = async (value: unknown) => {
    if (isStarting) return;
    setStarting(true);
    try {
      const target = staysInThread && thread !== undefined ? thread : await createThread();
      keepInput(graph, value ?? {});
      await startGraphRun(target, {
        assistant_id,
        // A graph without an input begins with nothing in it; `null` would mean to go on.
        input: value ?? {},
        ...(context !== undefined && { context }),
        ...interruptsOf(stops),
      });
      onThread(target);
      await queryClient.invalidateQueries({ queryKey: ["thread-runs", target] });
    } catch (error) {
      notifyError(error);
    } finally {
      setStarting(false);
    }
  };
  return (
    <div
      className="start-panel"
      role="presentation"
      onKeyDown={(event) => {
        if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
        const element = document.getElementById(form);
        if (element instanceof HTMLFormElement) element.requestSubmit();
      }}
    >
      <SchemaForm
        key={filled}
        id={form}
        label={t("graph.input")}
        schema={schemas?.input_schema}
        value={input}
        onValue={setInput}
        onSubmit={(value) => void start(value)}
      />
      {hasContext && (
        <Disclosure title={t("graph.context")}>
          <SchemaForm
            id={contextForm}
            label={t("graph.context")}
            schema={schemas?.context_schema}
            value={context}
            onValue={onContext}
            onSubmit={onContext}
          />
        </Disclosure>
      )}
      <div className="start-options">
        <label className="field">
          <span>{t("graph.thread")}</span>
          <select
            className="filter"
            value={staysInThread && thread !== undefined ? "same" : "new"}
            onChange={({ target }) => setStays(target.value === "same")}
          >
            <option value="new">{t("graph.newThread")}</option>
            {thread !== undefined && <option value="same">{t("graph.sameThread")}</option>}
          </select>
        </label>
      </div>
      <StopChoice nodes={nodes} stops={stops} onStops={onStops} />
      <div className="row-end">
        <EarlierInputs
          inputs={earlierInputs(graph)}
          onTake={(one) => {
            setInput(one);
            setFilled(filled + 1);
          }}
        />
        <Button type="submit" form={form} kind="primary" disabled={isStarting}>
          <Play size={16} />
          {t("graph.submit")}
          <kbd>Ctrl ⏎</kbd>
        </Button>
      </div>
    </div>
  );
}

/** What was sent to the graph before, to be taken again. */
function EarlierInputs({ inputs, onTake }: { inputs: readonly unknown[]; onTake: (input: unknown) => void }) {
  const { t } = useTranslation(work);
  if (inputs.length === 0) return null;
  return (
    <Menu
      label={t("graph.earlier")}
      className="button button-quiet button-normal"
      button={
        <>
          <History size={16} />
          {t("graph.earlier")}
        </>
      }
      entries={inputs.map((one, index) => ({
        label: `${index + 1}. ${visible(JSON.stringify(one)).slice(0, 80)}`,
        onSelect: () => onTake(one),
      }))}
    />
  );
}
