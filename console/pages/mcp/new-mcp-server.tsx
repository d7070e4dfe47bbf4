import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useLocation } from "wouter";
import * as z from "zod/mini";
import { saveMcpServer } from "../../api/shaping/mcp.ts";
import { mcpAddress } from "../../app/addresses.ts";
import { JsonInput } from "../../form/fields.tsx";
import { Button } from "../../parts/button.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { messageOf } from "../../parts/states.tsx";
import { manage } from "../../text/manage/words.ts";
import { McpEntry } from "./mcp-view.tsx";

const beginning = { command: "npx", args: ["-y", ""], enabled: true };

/** A server that is not there yet: its name, and how it is started or reached. */
export function NewMcpServer({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation(manage);
  const [, navigate] = useLocation();
  const [name, setName] = useState("");
  const [draft, setDraft] = useState<{ value: unknown; wrong?: string | undefined }>({ value: beginning });
  const [problem, setProblem] = useState<string>();
  const written = z.safeParse(McpEntry, draft.value);
  const isWhole = name.trim() !== "" && draft.wrong === undefined && written.success;
  const save = async () => {
    if (!written.success) return;
    try {
      await saveMcpServer(name.trim(), written.data);
      onClose();
      navigate(mcpAddress(name.trim()));
    } catch (error) {
      setProblem(messageOf(error));
    }
  };
  return (
    <Dialog title={t("mcp.add")} onClose={onClose}>
      <form
        className="dialog-body schema-form"
        onSubmit={(event) => {
          event.preventDefault();
          if (isWhole) void save();
        }}
      >
        <label className="field">
          <span>{t("mcp.name")}</span>
          <input className="input mono" value={name} onChange={({ target }) => setName(target.value)} />
        </label>
        <JsonInput
          label={t("mcp.entry")}
          hint={t("mcp.entryHint")}
          rows={6}
          value={beginning}
          onValue={(value, wrong) => setDraft({ value, wrong })}
        />
        {problem !== undefined && (
          <p className="problem" role="alert">
            {problem}
          </p>
        )}
        <div className="row-end">
          <Button type="submit" kind="primary" disabled={!isWhole}>
            {t("mcp.add")}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
