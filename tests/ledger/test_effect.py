"""What a call does to the world, by its name or by its command line."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentmem.ledger import effect, find_edits, is_waiting

CHANGES = """
sed -i 's/a/b/' f.py
sed -i.bak -e s/a/b/ f.py
cd src && mv a b
sudo -u root rm -rf build
FOO=1 BAR=2 git commit -m "x; y"
git -C repo add .
git checkout -- f.py
git branch new
echo hi > out.txt
echo hi >> out.txt
pytest 2> errors.txt
ls | tee list.txt
timeout 5 make install
env A=1 touch x
find . -name '*.pyc' -delete
find . -name x | xargs rm
bash -lc "cd x && rm y"
pip install requests
npm ci
curl -X POST http://x
curl -d a=1 http://x
curl -o f http://x
black .
ruff check --fix .
uv run ruff format .
for f in *.py; do mv $f x/$f; done
if [ -f a ]; then rm a; fi
docker run -it x
kubectl apply -f x.yaml
psql -c "UPDATE t SET a = 1"
gh pr create --fill
perl -pi -e s/a/b/ f
""".strip().splitlines()

READS = """
ls -la
cat f.py | head -20 | grep -n 'a > b'
cd x && pytest -q
git status
git log --oneline | head
git -C repo diff HEAD~1
git branch -a
git stash list
grep -rn "rm -rf" .
FOO=1 python -m pytest tests
sudo cat /etc/hosts
pytest 2>&1 | tail -5
ls 2>/dev/null
ls > /dev/null 2>&1
sed -n 1,20p f.py
find . -name '*.py'
cat <<EOF
awk '{print $1}' f
curl -s http://x/health
npm test
npm run lint
cargo test
make test
docker ps
kubectl get pods
pip list
uv run pytest
mypy --strict x
psql -c "SELECT 1"
echo "a > b; rm x"
black --check .
gh pr view 3
sleep 1 && pytest
ls # > file
""".strip().splitlines()


@pytest.mark.parametrize("command", CHANGES)
def test_a_command_that_writes_changes(command: str) -> None:
    assert effect("bash", json.dumps({"command": command})) == "changes"


@pytest.mark.parametrize("command", READS)
def test_a_command_that_looks_or_tests_reads(command: str) -> None:
    assert effect("Bash", json.dumps({"command": command})) == "reads"


@pytest.mark.parametrize(
    "command", ["sleep 30", "sleep 5; tail log", "date", "wait", "tail -f log", "gh run watch 3", ""]
)
def test_a_command_that_only_lets_time_pass_waits(command: str) -> None:
    assert effect("execute_bash", json.dumps({"command": command})) == "waits"


@pytest.mark.parametrize(
    "command", ["python fix.py", "./run.sh", "python - <<'EOF'\nrm x\nEOF", "node x.js", "frobnicate"]
)
def test_a_program_of_ones_own_is_unknown(command: str) -> None:
    assert effect("bash", json.dumps({"command": command})) == "unknown"


def test_a_here_document_is_text_and_its_redirection_changes() -> None:
    assert effect("bash", json.dumps({"command": "cat > f.py <<'EOF'\nls\nEOF"})) == "changes"
    assert effect("bash", json.dumps({"command": "cat <<EOF\nrm x > y\nEOF\nls"})) == "reads"


@pytest.mark.parametrize(
    ("tool", "arguments", "expected"),
    [
        ("read_file", "{}", "reads"),
        ("mcp__fs__write_file", "{}", "changes"),
        ("ListDirectory", "{}", "reads"),
        ("search_replace", "{}", "changes"),
        ("str_replace_editor", '{"command":"view","path":"x"}', "reads"),
        ("str_replace_editor", '{"command":"create","path":"x"}', "changes"),
        ("Edit", "{}", "changes"),
        ("TodoWrite", "{}", "reads"),
        ("update_plan", "{}", "reads"),
        ("think", '{"thought":"x"}', "reads"),
        ("shell", '{"command":["bash","-lc","rm x"]}', "changes"),
        ("shell", '{"command":["ls","-la"]}', "reads"),
        ("bash", "ls -la", "reads"),
        ("run_sql", '{"q":"SELECT 1"}', "reads"),
        ("run_sql", '{"q":"DELETE FROM t"}', "changes"),
        ("write_stdin", '{"session_id":1,"chars":""}', "waits"),
        ("write_stdin", '{"session_id":1,"chars":"y"}', "changes"),
        ("BashOutput", '{"bash_id":"1"}', "waits"),
        ("wait_for", "{}", "waits"),
        ("process", '{"action":"poll","id":"X"}', "waits"),
        ("frobnicate", "{}", "unknown"),
        ("", "", "unknown"),
    ],
)
def test_a_tool_is_judged_by_its_name_and_action(tool: str, arguments: str, expected: str) -> None:
    assert effect(tool, arguments) == expected


@pytest.mark.parametrize(
    "result", ["still running", "Build in progress", '{"status":"pending"}', "no new output", "job IN_PROGRESS"]
)
def test_a_result_that_says_so_is_waiting(result: str) -> None:
    assert is_waiting("get_job", "{}", result)


@pytest.mark.parametrize(
    "result",
    [
        "5 failed, 1 pending",
        "interactive rebase in progress; onto 1a2b",
        "Error: migrations pending",
        "done",
        "x" * 900,
    ],
)
def test_a_result_that_only_holds_the_word_is_not(result: str) -> None:
    assert not is_waiting("get_job", "{}", result)


def test_edits_are_found_in_the_arguments_of_common_tools() -> None:
    def paths(tool: str, **arguments: object) -> list[str]:
        return [edit.path for edit in find_edits(tool, json.dumps(arguments))]

    assert paths("Edit", file_path="a", old_string="x", new_string="y") == ["a"]
    assert paths("str_replace_based_edit_tool", command="str_replace", path="b", old_str="x", new_str="y") == ["b"]
    assert paths("MultiEdit", file_path="a", edits=[{"old_string": "1", "new_string": "2"}] * 2) == ["a", "a"]
    assert paths("Write", file_path="a", content="x") == ["a"]
    assert paths("bash", command="cd x && sed -i 's/a b/c/g' f.py g.py") == ["f.py", "g.py"]
    assert paths("apply_patch", input="*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n*** End Patch") == ["a.py"]
    assert paths("str_replace_editor", command="view", path="b", content="x") == []
    assert paths("read_file", path="a") == [] and paths("bash", command="ls") == []


def test_a_patch_and_its_reverse_are_one_edit_there_and_back() -> None:
    (there,) = find_edits("apply_patch", "*** Update File: a.py\n-x\n+y")
    (back,) = find_edits("apply_patch", "*** Update File: a.py\n-y\n+x")
    assert (there.old, there.new) == (back.new, back.old)


shellish = st.text(alphabet=st.sampled_from("ab \"'`$()<>&|;\\\n#{}-/=sudo0"), max_size=60)


@given(shellish | st.text())
def test_no_command_line_breaks_the_judgement(command: str) -> None:
    for tool, arguments in (("bash", command), ("bash", json.dumps({"command": command})), (command, command)):
        assert effect(tool, arguments) in ("changes", "reads", "waits", "unknown")
        find_edits(tool, arguments)


@pytest.mark.parametrize("piece", ["$(", "(", "'", '"', "`", "<<a\n", "\\", "&&", "$((", "bash -c '"])
def test_a_long_hostile_command_line_is_judged(piece: str) -> None:
    assert effect("bash", json.dumps({"command": piece * 50_000})) in ("changes", "reads", "waits", "unknown")
