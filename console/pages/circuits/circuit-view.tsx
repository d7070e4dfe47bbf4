import { useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import type { Circuit } from "../../api/shaping/circuit-shapes.ts";
import {
  readCircuitsAgain,
  simulateCircuit,
  takeBack,
  useCircuit,
  useIterations,
  useParsed,
  writeCircuit,
} from "../../api/shaping/circuits.ts";
import { createThread, useThreads } from "../../api/threads.ts";
import { circuitAddress, type CircuitPart } from "../../app/addresses.ts";
import { useCommands } from "../../app/commands.ts";
import { shownKeys } from "../../app/keys.ts";
import { useSettled } from "../../app/settled.ts";
import { visible } from "../../markdown/links.ts";
import { Button } from "../../parts/button.tsx";
import { Confirm } from "../../parts/confirm.tsx";
import { Failed, Loading, NextPage } from "../../parts/states.tsx";
import { notify, notifyError } from "../../parts/toast.tsx";
import { manage } from "../../text/manage/words.ts";
import { ChangedElsewhere } from "../changed-elsewhere.tsx";
import { useTextDraft, type TextDraft } from "../draft-editor.tsx";
import { useNewest } from "../forms/newest.ts";
import { Segments } from "../list-and-one.tsx";
import { ThreadChoice } from "../thread-choice.tsx";
import { Connections } from "./connections.tsx";
import { GoalsTable } from "./goals-table.tsx";
import { IterationList, type Numbered } from "./iteration-list.tsx";
import { NetlistPart } from "./netlist-part.tsx";
import { Waveforms } from "./curves/waveforms.tsx";

/** A circuit: its netlist, what is connected, its curves; beside it its goals and its simulations. */
export function CircuitView({ name, part }: { name: string; part: CircuitPart }) {
  const { t, i18n } = useTranslation(manage);
  const { data, error, refetch } = useCircuit(name, i18n.language);
  const now = async () => (await refetch({ throwOnError: true })).data;
  if (data !== undefined) return <OneCircuit circuit={data} part={part} now={now} />;
  if (error === null) return <Loading lines={10} />;
  const gone = { title: t("circuits.gone"), hint: t("circuits.goneHint") };
  return <Failed error={error} onRetry={() => void refetch()} gone={gone} />;
}

interface OneCircuitProps {
  circuit: Circuit;
  part: CircuitPart;
  /** Reads it once more. */
  now: () => Promise<Circuit | undefined>;
}

function OneCircuit({ circuit, part, now }: OneCircuitProps) {
  const { t, i18n } = useTranslation(manage);
  const { name } = circuit;
  const { draft, text, isChanged, change, drop, write, putBack } = useDraft(circuit, now);
  const parsed = useParsed(useSettled(draft?.text), i18n.language).data;
  const netlist = draft === undefined ? circuit.netlist : (parsed ?? circuit.netlist);
  const [net, setNet] = useState<string>();
  const iterations = useNumbered(name);
  const shown = useShown(iterations.all);
  const work = useWork(iterations.all);
  const segments = (["netlist", "connections", "waveforms"] as const).map((one) => ({
    label: t(`circuits.${one}`),
    address: circuitAddress(name, one),
    isHere: one === part,
  }));
  const save = (isOver: boolean) =>
    work.begin("save", async (thread) => {
      if (await write(thread, isOver)) notify(t("circuits.saved"));
    });
  const back = (to: Numbered) =>
    work.begin("save", async (thread) => {
      const written = await putBack(thread, to.netlist?.text ?? "");
      if (written === undefined) return;
      const { operation } = written;
      const undo = () => work.begin("save", async () => operation && (await takeBack(thread, operation)));
      const action = { label: t("circuits.takeBack"), run: undo };
      notify(t("circuits.isBack", { number: to.number }), { action, milliseconds: 10_000 });
    });
  // What is not saved cannot be brought back.
  const [asked, setAsked] = useState<Numbered>();
  const askOrBack = (to: Numbered) => (draft === undefined ? back(to) : setAsked(to));
  const simulate = () =>
    work.begin("simulate", async (thread) => {
      if (!(await write(thread, false))) return;
      await simulateCircuit(thread, name);
      notify(t("circuits.simulated"));
    });
  const maySave = draft !== undefined && work.busy === undefined;
  useSaveKey(() => maySave && !isChanged && save(false));
  return (
    <div className="circuit">
      <header className="prompt-head">
        <div>
          <h2>{visible(netlist.title === "" ? name : netlist.title)}</h2>
          <p className="hint mono">{visible(name)}</p>
        </div>
        <div className="filters">
          {draft !== undefined && (
            <>
              <Button size="small" kind="quiet" onClick={drop}>
                {t("circuits.discard")}
              </Button>
              <Button size="small" disabled={!maySave || isChanged} onClick={() => save(false)}>
                {t("circuits.save")} <kbd>{shownKeys("mod+s")}</kbd>
              </Button>
            </>
          )}
          <Button size="small" kind="primary" disabled={work.busy !== undefined || isChanged} onClick={simulate}>
            {t(work.busy === "simulate" ? "circuits.simulating" : "circuits.simulate")}
          </Button>
        </div>
      </header>
      {isChanged && (
        <ChangedElsewhere
          isGone={false}
          mayKeep={maySave}
          onKeep={() => save(true)}
          onTake={drop}
          texts={{ theirs: circuit.text, mine: text }}
        />
      )}
      {asked !== undefined && <BackQuestion to={asked} back={back} onClose={() => setAsked(undefined)} />}
      <div className="circuit-columns">
        <div className="circuit-main">
          <Segments label={t("circuits.parts")} segments={segments} />
          {part === "netlist" && (
            <NetlistPart text={text} netlist={netlist} net={net} onChange={change} onNet={setNet} />
          )}
          {part === "connections" && <Connections name={name} netlist={netlist} net={net} onNet={setNet} />}
          {part === "waveforms" && (
            <Waveforms
              name={name}
              shown={shown.overlaid.map(({ iteration_id: id, number }) => ({
                id,
                number: t("circuits.number", { number }),
              }))}
            />
          )}
        </div>
        <aside className="circuit-side" aria-label={t("circuits.iterations")}>
          <GoalsTable goals={shown.one?.goals ?? circuit.goals} problem={circuit.goals_problem} all={iterations.all} />
          {iterations.error !== null && iterations.all.length === 0 ? (
            <Failed error={iterations.error} onRetry={iterations.retry} />
          ) : (
            <IterationList
              iterations={iterations.all}
              hash={circuit.hash}
              current={shown.opened}
              overlaid={new Set(shown.overlaid.map(({ iteration_id: id }) => id))}
              isBusy={work.busy !== undefined}
              onShow={shown.open}
              onOverlay={shown.overlay}
              onBack={askOrBack}
            />
          )}
          <NextPage query={iterations.query} label={t("circuits.older")} />
          <ThreadChoice
            label={t("circuits.inChat")}
            none={t("circuits.newChat")}
            threadId={work.thread}
            graph="agent"
            onThread={work.choose}
          />
        </aside>
      </div>
    </div>
  );
}

/** Asks whether a former netlist takes the place of what is not saved. */
function BackQuestion({ to, back, onClose }: { to: Numbered; back: (to: Numbered) => void; onClose: () => void }) {
  const { t } = useTranslation(manage);
  return (
    <Confirm
      title={t("circuits.backUnsaved", { number: to.number })}
      hint={t("edit.unsavedHint")}
      action={t("circuits.back")}
      run={() => Promise.resolve(back(to))}
      onClose={onClose}
    />
  );
}

/** The text that is being written: it survives a reload, and is saved unless another has written meanwhile. */
function useDraft(circuit: Circuit, now: OneCircuitProps["now"]) {
  const [draft, setDraft] = useTextDraft(`circuit.${circuit.name}`);
  const newest = useNewest(draft);
  /** Whether another has written what is there since a text was begun. */
  const isOther = (there: Circuit | undefined, { text, base }: TextDraft): boolean =>
    there?.hash !== base && there?.text !== text;
  /**
   * Writes a text. It is read again before the draft is dropped; what was written here meanwhile stays one. Gives the operation,
   * which is `undefined` where nothing was changed.
   */
  const put = async (thread: string, text: string) => {
    const operation = await writeCircuit(thread, circuit.name, text);
    const base = (await now())?.hash ?? "";
    const later = newest.current;
    setDraft(later === undefined || later.text === draft?.text ? undefined : { text: later.text, base });
    return { operation };
  };
  return {
    draft,
    text: draft?.text ?? circuit.text,
    isChanged: draft !== undefined && isOther(circuit, draft),
    change: (text: string): void =>
      setDraft(text === circuit.text ? undefined : { text, base: draft?.base ?? circuit.hash }),
    drop: () => setDraft(undefined),
    /** Returns whether it was written; with `isOver` also over what another has written. */
    write: async (thread: string, isOver: boolean): Promise<boolean> => {
      if (draft === undefined) return true;
      if (!isOver && isOther(await now(), draft)) return false;
      await put(thread, draft.text);
      return true;
    },
    /** Writes a former text; where another has written meanwhile it becomes the draft instead, about which is asked. */
    putBack: async (thread: string, text: string) => {
      const former = { text, base: draft?.base ?? circuit.hash };
      if (!isOther(await now(), former)) return put(thread, text);
      if (newest.current?.text === draft?.text) setDraft(former);
      return undefined;
    },
  };
}

/** The simulations of a circuit with their numbers: the oldest that was read is the first. */
function useNumbered(name: string) {
  const query = useIterations(name);
  const { data, error, refetch } = query;
  const all = useMemo((): Numbered[] => {
    const found = data?.pages.flatMap((page) => page.iterations) ?? [];
    return found.map((one, at) => ({ ...one, number: found.length - at }));
  }, [data]);
  return { all, error, retry: () => void refetch(), query };
}

/** Simulations whose curves lie over one another before the user chooses. */
const firstOverlaid = 2;

/** Which simulations are looked at: the newest, until others are chosen. */
function useShown(all: readonly Numbered[]) {
  const [opened, setOpened] = useState<string>();
  const [chosen, setChosen] = useState<ReadonlySet<string>>();
  const drawable = all.filter(({ is_kept }) => is_kept);
  const overlaid =
    chosen === undefined ? drawable.slice(0, firstOverlaid) : drawable.filter(({ iteration_id: id }) => chosen.has(id));
  const ids = new Set(overlaid.map(({ iteration_id: id }) => id));
  return {
    opened,
    one: all.find(({ iteration_id: id }) => id === opened) ?? all.find(({ status }) => status === "done"),
    overlaid,
    open: (id: string) => setOpened(id === opened ? undefined : id),
    overlay: (id: string) => {
      if (!ids.delete(id)) ids.add(id);
      setChosen(ids);
    },
  };
}

/** What is done to a circuit, one thing at a time, and the chat in which it is done. */
function useWork(all: readonly Numbered[]) {
  const newest = useThreads({ archived: false, graph_id: "agent" }).data?.pages[0]?.threads[0]?.thread_id;
  const [chosen, setChosen] = useState<{ id: string | undefined }>();
  const [busy, setBusy] = useState<"save" | "simulate">();
  const thread = chosen === undefined ? (all[0]?.thread_id ?? newest) : chosen.id;
  const begin = (what: "save" | "simulate", act: (thread: string) => Promise<unknown>): void => {
    setBusy(what);
    const perform = async (): Promise<void> => {
      const id = thread ?? (await createThread());
      setChosen({ id });
      await act(id);
    };
    void perform()
      .catch(notifyError)
      .finally(() => {
        setBusy(undefined);
        void readCircuitsAgain();
      });
  };
  return { busy, thread, begin, choose: (id: string | undefined) => setChosen({ id }) };
}

/** `Ctrl S` saves, as in every editor. */
function useSaveKey(run: () => void): void {
  const { t } = useTranslation(manage);
  const commands = useMemo(
    () => [{ id: "save", group: "here" as const, label: t("circuits.save"), keys: "mod+s", run }],
    [t, run],
  );
  useCommands(commands);
}
