import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useLocation } from "wouter";
import type { OwnKind } from "../../api/shaping/agents.ts";
import { agentAddress, ruleAddress } from "../../app/addresses.ts";
import { keepDraft } from "../../app/kept/drafts.ts";
import { Button } from "../../parts/button.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { manage } from "../../text/manage/words.ts";

const names = {
  rules: /^[\p{L}\p{N}][\p{L}\p{N}_. -]{0,99}$/u,
  agents: /^[\p{L}\p{N}][\p{L}\p{N}_.-]{0,63}$/u,
};

/** What a new file begins with. */
const beginnings: Record<OwnKind, (name: string) => string> = {
  rules: () => `---\ndescription: \nglobs: "**/*.md"\nalwaysApply: false\n---\n\n`,
  agents: (name) => `---\nname: ${name}\ndescription: \n---\n\n`,
};

/** A rule or an agent that is not there yet: its name, and then its text in the editor. */
export function NewOwnFile({ kind, onClose }: { kind: OwnKind; onClose: () => void }) {
  const { t } = useTranslation(manage);
  const [, navigate] = useLocation();
  const [name, setName] = useState("");
  const isName = names[kind].test(name.trim());
  const begin = () => {
    const plain = name.trim();
    const file = kind === "rules" && !plain.endsWith(".md") ? `${plain}.md` : plain;
    keepDraft(`${kind} ${file}`, JSON.stringify({ text: beginnings[kind](file), base: "" }));
    onClose();
    navigate(kind === "rules" ? ruleAddress(file) : agentAddress(file));
  };
  return (
    <Dialog title={t(kind === "rules" ? "agents.addRule" : "agents.addAgent")} onClose={onClose}>
      <form
        className="dialog-body schema-form"
        onSubmit={(event) => {
          event.preventDefault();
          if (isName) begin();
        }}
      >
        <label className="field">
          <span>{t("agents.name")}</span>
          <input className="input mono" value={name} onChange={({ target }) => setName(target.value)} />
        </label>
        <p className="hint">{t("agents.nameHint")}</p>
        <div className="row-end">
          <Button type="submit" kind="primary" disabled={!isName}>
            {t("agents.begin")}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
