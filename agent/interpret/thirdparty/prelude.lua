-- Functions for the bundled scripts. This text stands before each of them.
local kube = require("kube")

-- pick copies the named fields of an object's status, and the generations by
-- which the hub can tell an old status from a new one.
local function pick(observedObj, ...)
  local status = {}
  local source = observedObj.status or {}
  for _, name in ipairs({...}) do
    status[name] = source[name]
  end
  status.generation = observedObj.metadata.generation
  local annotations = observedObj.metadata.annotations or {}
  status.resourceTemplateGeneration = tonumber(annotations["resourcetemplate.karmada.io/generation"])
  return status
end

-- statuses returns the status of each member that has one, the names of their
-- clusters, and whether all have one.
local function statuses(items)
  local list, clusters = {}, {}
  for _, item in ipairs(items) do
    if item.status ~= nil then
      list[#list + 1] = item.status
      clusters[#clusters + 1] = item.clusterName
    end
  end
  return list, clusters, #items > 0 and #list == #items
end

-- begin returns the template's status, to be filled in.
local function begin(desiredObj)
  if desiredObj.status == nil then
    desiredObj.status = {}
  end
  return desiredObj.status
end

-- sum adds the named fields up. A sum of zero is left out where there was none.
local function sum(status, items, ...)
  local list = statuses(items)
  for _, name in ipairs({...}) do
    local total = 0
    for _, s in ipairs(list) do
      total = total + (tonumber(s[name]) or 0)
    end
    if total ~= 0 or status[name] ~= nil then
      status[name] = total
    end
  end
end

-- observe sets observedGeneration once every member has seen the template as it is.
local function observe(desiredObj, items)
  local generation = desiredObj.metadata.generation or 0
  local list, _, complete = statuses(items)
  for _, s in ipairs(list) do
    local seen = tonumber(s.observedGeneration) or 0
    if (s.resourceTemplateGeneration or 0) < generation or seen < (s.generation or 0) then
      complete = false
    end
  end
  if complete and generation > 0 then
    desiredObj.status.observedGeneration = generation
  end
end

-- seen says whether the member's controller has seen the object as it is.
local function seen(observedObj)
  return observedObj.status ~= nil and tonumber(observedObj.status.observedGeneration) == observedObj.metadata.generation
end

-- same sets the named fields to the value of the first member that has one.
local function same(status, items, ...)
  local list = statuses(items)
  for _, name in ipairs({...}) do
    for _, s in ipairs(list) do
      if s[name] ~= nil then
        status[name] = s[name]
        break
      end
    end
  end
end

-- worst returns the first value of an order that any member's field has. A member
-- without a value counts as missing.
local function worst(items, field, order, missing)
  local present = {}
  for _, item in ipairs(items) do
    local value = missing
    if item.status ~= nil and item.status[field] ~= nil and item.status[field] ~= "" then
      value = item.status[field]
    end
    if value ~= nil then
      present[value] = true
    end
  end
  for _, value in ipairs(order) do
    if present[value] then
      return value
    end
  end
  return nil
end

-- earliest and latest compare times in their written form, which is in UTC.
local function earliest(items, field)
  local best = nil
  for _, s in ipairs((statuses(items))) do
    if s[field] ~= nil and (best == nil or s[field] < best) then
      best = s[field]
    end
  end
  return best
end

local function latest(items, field)
  local best = nil
  for _, s in ipairs((statuses(items))) do
    if s[field] ~= nil and (best == nil or s[field] > best) then
      best = s[field]
    end
  end
  return best
end

-- condition returns a condition of a status by its type.
local function condition(status, kind)
  for _, c in ipairs(status.conditions or {}) do
    if c.type == kind then
      return c
    end
  end
  return nil
end

local function holds(status, kind)
  local c = condition(status or {}, kind)
  return c ~= nil and c.status == "True"
end

-- conditions unites the members' conditions. Those named in every hold once they
-- hold in every member, the others as soon as they hold in one.
local function conditions(status, items, every)
  local kinds, known = {}, {}
  for _, s in ipairs((statuses(items))) do
    for _, c in ipairs(s.conditions or {}) do
      if not known[c.type] then
        known[c.type] = true
        kinds[#kinds + 1] = c.type
      end
    end
  end
  local united = {}
  for _, kind in ipairs(kinds) do
    local all, any, decider, at, messages = true, false, nil, nil, {}
    for _, item in ipairs(items) do
      local c = condition(item.status or {}, kind)
      if c == nil or c.status ~= "True" then
        all = false
      else
        any = true
      end
      if c ~= nil then
        if at == nil or (c.lastTransitionTime ~= nil and c.lastTransitionTime > at) then
          at = c.lastTransitionTime
        end
        if decider == nil or (every[kind] and decider.status == "True") or (not every[kind] and decider.status ~= "True") then
          decider = c
        end
        if c.message ~= nil and c.message ~= "" then
          messages[#messages + 1] = item.clusterName .. ": " .. c.message
        end
      end
    end
    local verdict = any
    if every[kind] then
      verdict = all
    end
    local text = "False"
    if verdict then
      text = "True"
    elseif decider.status == "Unknown" or decider.status == "True" then
      text = "Unknown"
    end
    united[#united + 1] = {type = kind, status = text, reason = decider.reason, message = string.sub(table.concat(messages, "; "), 1, 2000), lastTransitionTime = at}
  end
  if #united > 0 then
    status.conditions = united
  end
end

-- reference names an object of the core group.
local function reference(list, desiredObj, kind, name)
  if name ~= nil and name ~= "" and not (kind == "ServiceAccount" and name == "default") then
    list[#list + 1] = {apiVersion = "v1", kind = kind, name = name, namespace = desiredObj.metadata.namespace}
  end
end

-- pods adds what the pods of templates need.
local function pods(list, desiredObj, ...)
  for _, template in ipairs({...}) do
    for _, d in ipairs(kube.getPodDependencies(template, desiredObj.metadata.namespace)) do
      list[#list + 1] = d
    end
  end
  return list
end

-- at returns a nested field, nil if a step is missing.
local function at(o, ...)
  for _, name in ipairs({...}) do
    if type(o) ~= "table" then
      return nil
    end
    o = o[name]
  end
  return o
end
