import { useState, type FormEvent } from "react";
import { useTranslation } from "react-i18next";
import { ApiError } from "../api/client.ts";
import { keepKey } from "../api/key.ts";
import { Button } from "../parts/button.tsx";
import { focusAtFirst } from "../parts/focus.ts";

/** Asks for a key. `isAgain`: above the page, which keeps everything that was typed. */
export function SignIn({ isAgain }: { isAgain: boolean }) {
  const { t } = useTranslation();
  const [key, setKey] = useState("");
  const [remember, setRemember] = useState(false);
  const [problem, setProblem] = useState("");
  const [isTrying, setTrying] = useState(false);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (key.trim() === "" || isTrying) return;
    setTrying(true);
    try {
      const answer = await fetch("/me", { headers: { "x-api-key": key.trim() }, credentials: "omit" });
      if (answer.status === 401) setProblem(t("signIn.wrong"));
      else if (!answer.ok) setProblem(await answer.text());
      else keepKey(key.trim(), remember);
    } catch (error) {
      setProblem(error instanceof ApiError ? error.message : t("state.unreachable"));
    } finally {
      setTrying(false);
    }
  };
  const form = (
    <form className="sign-in-card" onSubmit={(event) => void submit(event)} aria-labelledby="sign-in-title">
      <img src="/console/icon.svg" width={40} height={40} alt="" />
      <h1 id="sign-in-title">{t("signIn.title")}</h1>
      <p className="hint">{isAgain ? t("signIn.again") : t("signIn.hint")}</p>
      <label className="field">
        <span>{t("signIn.key")}</span>
        <input
          className="input"
          type="password"
          autoComplete="current-password"
          ref={focusAtFirst}
          value={key}
          onChange={(event) => setKey(event.target.value)}
        />
      </label>
      <label className="check">
        <input type="checkbox" checked={remember} onChange={(event) => setRemember(event.target.checked)} />
        <span>
          {t("signIn.remember")}
          <small>{t("signIn.rememberHint")}</small>
        </span>
      </label>
      {problem !== "" && (
        <p className="problem" role="alert">
          {problem}
        </p>
      )}
      <Button type="submit" kind="primary" disabled={key.trim() === "" || isTrying}>
        {t("signIn.submit")}
      </Button>
    </form>
  );
  if (!isAgain) return <main className="sign-in">{form}</main>;
  return (
    <div className="sign-in sign-in-over" role="dialog" aria-modal="true" aria-labelledby="sign-in-title">
      {form}
    </div>
  );
}
