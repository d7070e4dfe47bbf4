import EllipsisVertical from "icon:ellipsis-vertical";
import ListFilter from "icon:list-filter";
import Plus from "icon:plus";
import Save from "icon:save";
import Trash from "icon:trash-2";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useLocation } from "wouter";
import {
  chooseVersion,
  deleteAssistant,
  makeAssistant,
  makeVersion,
  useVersions,
  type FullAssistant,
} from "../../api/graphs.ts";
import { useAssistants } from "../../api/threads.ts";
import { graphAddress } from "../../app/addresses.ts";
import { visible } from "../../markdown/links.ts";
import { Button, useOnce } from "../../parts/button.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Menu } from "../../parts/menu.tsx";
import { notify, notifyError } from "../../parts/toast.tsx";
import { work } from "../../text/inspector/work.ts";

/** Which assistant of a graph is shown, in which version, and what can be made of it. */
export function AssistantHead({
  assistant,
  context,
  version,
  onVersion,
}: {
  assistant: FullAssistant;
  context: unknown;
  version: number;
  onVersion: (version: number, context: unknown) => void;
}) {
  const { t } = useTranslation(work);
  const [, navigate] = useLocation();
  const [isMaking, setMaking] = useState(false);
  const { assistant_id: id, graph_id: graph, version: active } = assistant;
  const all = (useAssistants().data ?? []).filter(({ graph_id }) => graph_id === graph);
  const versions = useVersions(id).data ?? [];
  const isOwn = assistant.metadata?.["created_by"] === "system";
  return (
    <header className="page-head">
      <h1>{visible(graph)}</h1>
      <select
        className="filter"
        aria-label={t("graph.assistant")}
        value={id}
        onChange={({ target }) => navigate(graphAddress(target.value))}
      >
        {(all.length === 0 ? [assistant] : all).map((one) => (
          <option key={one.assistant_id} value={one.assistant_id}>
            {visible(one.name ?? one.assistant_id)}
          </option>
        ))}
      </select>
      {versions.length > 1 && (
        <select
          className="filter"
          aria-label={t("graph.versions")}
          value={version}
          onChange={({ target }) => {
            const chosen = versions.find((one) => one.version === Number(target.value));
            if (chosen !== undefined) onVersion(chosen.version, chosen.context ?? undefined);
          }}
        >
          {versions.map((one) => (
            <option key={one.version} value={one.version}>
              {t(one.version === active ? "graph.activeVersion" : "graph.version", { version: one.version })}
            </option>
          ))}
        </select>
      )}
      {version !== active && (
        <Button size="small" onClick={() => void chooseVersion(id, version).catch(notifyError)}>
          {t("graph.activate")}
        </Button>
      )}
      <span className="space" />
      <Menu
        label={t("graph.more")}
        button={<EllipsisVertical size={18} />}
        entries={[
          { label: t("graph.make"), icon: <Plus size={16} />, onSelect: () => setMaking(true) },
          {
            label: t("graph.save"),
            icon: <Save size={16} />,
            onSelect: () => void makeVersion(id, context).then((made) => onVersion(made, context), notifyError),
          },
          {
            label: t("graph.runs"),
            icon: <ListFilter size={16} />,
            onSelect: () => navigate(`/runs?graph=${encodeURIComponent(graph)}`),
          },
          !isOwn && "line",
          !isOwn && {
            label: t("graph.deleteOne"),
            icon: <Trash size={16} />,
            danger: true,
            onSelect: () => void deleteAssistant(id).then(() => navigate(graphAddress(graph)), notifyError),
          },
        ]}
      />
      {isMaking && <MakeDialog graph={graph} context={context} onClose={() => setMaking(false)} />}
    </header>
  );
}

function MakeDialog({ graph, context, onClose }: { graph: string; context: unknown; onClose: () => void }) {
  const { t } = useTranslation(work);
  const [, navigate] = useLocation();
  const [name, setName] = useState("");
  const make = useOnce(async () => {
    if (name.trim() === "") return;
    try {
      const id = await makeAssistant(graph, name.trim(), context);
      notify(t("graph.makeDone", { name: name.trim() }));
      onClose();
      navigate(graphAddress(id));
    } catch (error) {
      notifyError(error);
    }
  });
  return (
    <Dialog title={t("graph.make")} onClose={onClose}>
      <form
        className="dialog-body"
        onSubmit={(event) => {
          event.preventDefault();
          make();
        }}
      >
        <p className="hint">{t("graph.makeHint")}</p>
        <label className="field">
          <span>{t("graph.name")}</span>
          <input className="input" value={name} maxLength={200} onChange={({ target }) => setName(target.value)} />
        </label>
        <div className="row-end">
          <Button type="submit" kind="primary" disabled={name.trim() === ""}>
            {t("graph.make")}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
