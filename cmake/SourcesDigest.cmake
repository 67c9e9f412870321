# Writes OUTPUT: one digest of all that the native library is compiled from, the sources below FOLDER and SETTINGS, so
# that results are told apart that different sources gave. Equal sources give equal digests, wherever they lie.
file(GLOB files RELATIVE "${FOLDER}" "${FOLDER}/*/model/*.cc" "${FOLDER}/*/model/*.h")
list(SORT files)
set(every "")
foreach(file IN LISTS files)
  file(SHA256 "${FOLDER}/${file}" digest)
  string(APPEND every "${file} ${digest}\n")
endforeach()
file(SHA256 "${SETTINGS}" digest)
string(SHA256 all "${every}${digest}")
file(WRITE "${OUTPUT}" "${all}\n")
